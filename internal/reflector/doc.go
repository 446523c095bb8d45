// Package reflector fills lanes: it lists and watches the upstream, and is the only writer of the lanes.
//
// Lanes contains one Reflector for each resource and encoding that is read. A Reflector is a cache.Lane with its
// writer, its freshness checks (internal/fresh), and the properties of its resource.
//
// Where the data of a lane comes from:
//
//   - All clients of a lane share one list and one watch of the upstream. If kube-apiserver serves lists with a limit
//     from memory, a list of many objects is read by limit and continue, with at most two responses in memory
//     (docs/adr/0017-lanes-are-filled-by-pages.md). Other lists are usually streaming lists.
//   - If a journal of an earlier process matches the upstream, a new lane and its history are restored from it. The
//     recorder writes the objects and events of most resources to the journal (recording_identity.go). Reads and events
//     do not wait for the recorder (recorder.go, restore.go, docs/adr/0040-the-journal.md).
//   - Otherwise, a new lane of a built-in resource, except Event, is listed from a peer if one has a usable list. The
//     watch is always opened at the upstream (warm.go, docs/adr/0020-facades-read-facades.md).
//   - A client's watch that begins before the lane's history receives events of the upstream, up to a resourceVersion
//     (RV) from which the lane continues. Clients share the watches that read these events. Such a watch fails if the
//     upstream is another cluster or release than before (older.go, docs/adr/0037-older-watches.md).
//   - Objects are cut out of the upstream's lists and frames as bytes. A Table row is stored with an object only if the
//     row names that object. Inconsistent data is an error; the lane keeps its last State while the writer retries.
//   - While consistent reads need the RVs of built-in resources without a lane, metadata watches receive these RVs.
//     Nothing else of these resources is stored (accounts.go, docs/adr/0033-costly-reads.md).
//
// What happens when a watch ends, or the upstream changes:
//
//   - A watch that ends is resumed from the RV up to which the lane is complete. No event is skipped, and duplicates
//     are dropped by resourceVersion (I3 in cache/doc.go). After a failure, the pause before the next attempt grows.
//   - A watch that received bookmarks and then nothing for more than two bookmark intervals is closed and resumed. The
//     lane counts as stale since its last frame.
//   - A watch that broke off is not resumed in another cluster, if the upstream identifies its cluster (version.go).
//   - If the upstream has lost the events after the lane's RV (410), the lane is listed again. Its watches receive
//     the differences between the lane and the list (lost_window.go, docs/adr/0021-lost-windows.md).
//   - If the differences cannot or must not be replayed, a new epoch begins. The same applies if the upstream is at an
//     earlier RV than before, or the lane has other objects or Table columns than the upstream. If the objects of the
//     lane are possibly wrong, reads do not use them until the new list (writer.distrust).
//   - A new epoch also begins if kube-apiserver has another release, which may represent objects differently. An
//     unknown release counts as unchanged. If two releases alternate, the pauses between lists grow (version.go).
//   - After a 401 or 403, a filled lane keeps its State while its writer retries. The lane ends when the refusal has
//     lasted half a minute, or when an access review of the upstream confirms it.
//   - When a custom resource is redefined, its lane ends. So the selectable fields of a lane never change. One watch
//     follows all definitions, and freshness checks confirm the definition of their lane (redefinition.go,
//     docs/adr/0032-changed-definitions.md).
//   - If a lane does not fit into memory, it ends. It is filled again when enough memory is available
//     (memory_admission.go, docs/adr/0019-memory-budget.md).
//   - The self-audit regularly compares each lane with the upstream, page by page. It logs differences and lists the
//     lane again, after growing pauses if a new list does not help (selfaudit.go, docs/adr/0023-self-audit.md).
//
// Goroutines: Constructors start none. Lanes.Run runs in a goroutine of its caller. It owns the goroutines of the
// self-audit, of the recorder, of the watch of all definitions, and of account watches. If a disk hangs, Run waits for
// the recorder for five seconds at its start and for ten at its end. Lanes also owns the goroutines of requests that
// lanes share, of packing, and of stopping replaced lanes.
//
// A Reflector owns the goroutines of its writer, its freshness checks and its reads of older events, and waits for them
// when it is stopped. The writer owns goroutines that read its stream and write the steps of it, fetch pages of lists,
// decode the journal, and log the progress. If a disk hangs, the goroutine that searches the journal outlives the
// writer. A reader that leaves does not cancel a request that other readers wait for.
//
// The package serves no client, and never checks a client's permissions. The caller must authorize a request before it
// uses a Reflector.
package reflector
