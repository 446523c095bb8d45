// Package reflector fills lanes: it lists and watches the upstream, and is the only writer of the lanes.
//
// Lanes contains one Reflector for each resource that is read. A Reflector is a cache.Lane with its writer, its
// freshness checks (internal/fresh), and the properties of its resource.
//
// The package promises:
//
//   - Each lane costs the upstream one list and one watch, however many clients read from it. The list is read page by
//     page, in the representation that costs the upstream least. At most two pages are in memory
//     (docs/adr/0017-lanes-are-filled-by-pages.md).
//   - If there are peers, the first list of a lane of built-in resources comes from a peer. The upstream has to confirm
//     that it has reached the list's version. The watch is always opened at the upstream (warm.go,
//     docs/adr/0020-facades-read-facades.md).
//   - The recorder writes each lane's objects and events to the journal, and never delays an event or a read. If the
//     upstream confirms the journal of an earlier process, the lane and its history are restored from it (recorder.go,
//     restore.go, docs/adr/0040-the-journal.md).
//   - A client's watch from before the lane's history receives the upstream's events, up to a version from which the
//     lane continues. One short watch of the upstream serves all of these clients, unless too many objects have
//     changed. Events of another cluster, or of objects in another representation, are not sent (older.go,
//     docs/adr/0037-older-events.md).
//   - A watch that ends is resumed from the last resourceVersion up to which the lane is complete. The delay before the
//     new watch grows and is jittered. No event is skipped, and duplicates are dropped by resourceVersion (I3).
//   - A watch that broke off is not resumed in another cluster, if the upstream identifies its cluster
//     (lost_window.go).
//   - A watch that received bookmarks and then nothing for two bookmark intervals is closed and resumed. The lane then
//     counts as stale since its last frame.
//   - If the upstream has lost the events after the lane's resourceVersion (410), the lane is listed again. Its watches
//     receive the differences between the lane and the list (lost_window.go, docs/adr/0021-gaps-are-bridged.md).
//   - A new epoch begins if differences cannot be replayed. A new epoch also begins if the upstream was restored to an
//     earlier resourceVersion, or its Table columns changed. The same applies if kube-apiserver has another version,
//     because it may represent objects differently (I11). An unknown version counts as unchanged. If two versions
//     alternate, the pauses between lists grow (version.go).
//   - After a 401 or 403 a filled lane keeps its State, and its writer retries at growing intervals. The lane ends when
//     the refusal has lasted half a minute, or as soon as an access review of the upstream confirms it.
//   - When a custom resource is redefined, its lane ends. So a request and its State always have the same selectable
//     fields, and no check confirms objects in an outdated representation. One watch follows all definitions, and each
//     freshness check confirms the definition of its lane (redefinition.go,
//     docs/adr/0032-definitions-are-confirmed.md).
//   - Inconsistent data from the upstream is an error. The writer retries at growing intervals, while the lane keeps
//     its last State.
//   - Objects are cut out of the upstream's lists and frames as bytes, and are never decoded. A Table row is stored
//     with an object only if the row names that object.
//   - The filling of a lane that does not fit into memory is stopped. Filling is tried again when enough memory is
//     available (memory_admission.go, docs/adr/0019-memory-has-a-budget.md).
//   - While consistent reads need it, metadata watches receive the versions of built-in resources without a lane.
//     Nothing else of these resources is stored (accounts.go, docs/adr/0033-versions-are-accounted-for.md).
//   - The self-audit regularly compares each lane with the upstream, page by page at exact versions. It logs
//     differences and lists the lane again (selfaudit.go, docs/adr/0023-lanes-are-audited.md).
//   - The progress of a long list is logged and available to callers (Progress).
//
// Goroutines: Lanes.Run runs in a goroutine of its caller and stops idle lanes. It owns one goroutine each for the
// self-audit, for the recorder, for the watch of all definitions, and for account watches. If a disk hangs, Run waits
// for the recorder for five seconds at its start and for ten at its end. The goroutine for account watches owns one
// goroutine for each watch. A Reflector owns the goroutines of its writer and its freshness checks, and waits for them
// when it is stopped. A writer owns the goroutine that cuts its stream into steps. While the writer lists, it also owns
// a goroutine that fetches pages and one that logs the progress; while it decodes the journal, one for each processor.
// If a disk hangs, the goroutine that searches the journal outlives the writer. A Reflector owns a goroutine for each
// selection whose older events are read, and up to nine that read the objects as they were before these events. Lanes
// owns the goroutines of requests that lanes share, of packing, and of stopping replaced lanes. Constructors start
// nothing. A reader that leaves does not cancel a request that others wait for.
//
// The package serves no client, and never checks a client's permissions. The caller must authorize a request before it
// gets a Reflector for it.
package reflector
