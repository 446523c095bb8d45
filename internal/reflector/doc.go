// Package reflector fills lanes. It list-watches the upstream, and is the only writer of the caches.
//
// Lanes contains one Reflector for each resource that is read. A Reflector is a cache.Lane with its writer, its
// freshness checks (internal/fresh), and the properties of its resource.
//
// The package promises:
//
//   - Each lane costs the upstream one list and one watch, however many clients read from it. The list is read by
//     pages, in the representation that costs the upstream least, with at most two pages in memory
//     (docs/adr/0017-lanes-are-filled-by-pages.md).
//   - If there are peers, the first list of a lane of built-in resources comes from a peer. The upstream has to confirm
//     that it has been at the list's version. The watch always is the upstream's (warm.go,
//     docs/adr/0020-facades-read-facades.md).
//   - If an earlier process left a snapshot and the upstream confirms it, the lane is restored from it, with its
//     history. When the facade stops, each lane writes a snapshot (restore.go, docs/adr/0024-lanes-leave-snapshots.md).
//   - A watch that ends is resumed from the last resourceVersion up to which the lane is complete, after a jittered,
//     growing delay. No event is skipped, and duplicates are dropped by resourceVersion (I3).
//   - A watch that broke off is not resumed in another cluster, if the upstream identifies its cluster
//     (lost_window.go).
//   - A watch that received bookmarks and then nothing for two bookmark intervals is closed and resumed. The lane
//     counts as stale since the last frame.
//   - If the upstream has lost the events after that resourceVersion (410), the lane is listed again. Its watches
//     receive the differences between the lane and the list (lost_window.go, docs/adr/0021-gaps-are-bridged.md).
//   - A new epoch begins if differences cannot be replayed. It also begins if the upstream was restored to an earlier
//     version, prints other columns, or has another version, which may represent objects differently (I11). An unknown
//     version counts as unchanged. If versions alternate, the pauses between lists grow (version.go).
//   - After a 401 or 403 a filled lane keeps its State, and its writer retries at growing intervals. The lane ends when
//     the refusal has lasted half a minute, or immediately when the upstream's authorizer confirms it.
//   - When a custom resource is redefined, its lane ends. So no request is parsed with another kind than its State's,
//     and no check confirms objects in an outdated representation. One watch follows all definitions, and each
//     freshness check confirms that of its lane (redefinition.go, docs/adr/0032-definitions-are-confirmed.md).
//   - Inconsistent data from the upstream is an error. The writer retries at growing intervals, while the lane keeps
//     its last State.
//   - Objects are cut out of the upstream's lists and frames as bytes, and are never decoded. A printed row is stored
//     with an object only if it names that object.
//   - A lane that does not fit into memory stops filling, and is not filled again before enough memory is available
//     (memory_admission.go, docs/adr/0019-memory-has-a-budget.md).
//   - While consistent reads need it, metadata watches receive the versions of built-in resources without a lane.
//     Nothing else is kept of them (accounts.go, docs/adr/0033-versions-are-accounted-for.md).
//   - The self-audit regularly compares each lane with the upstream, page by page at exact versions. It logs
//     differences and lists the lane again (selfaudit.go, docs/adr/0023-lanes-are-audited.md).
//   - The progress of a long list is logged and available to callers (Progress).
//
// Goroutines: Lanes.Run runs in a goroutine of its caller and stops idle lanes. It owns one goroutine each for the
// self-audit, for the watch of all definitions, and for account watches. The last one owns a goroutine for each account
// watch. A Reflector owns the goroutines of its writer and its freshness checks, and waits for them when it is stopped.
// A writer owns the goroutine that cuts its stream into steps. While it lists, it also owns those that fetch pages and
// log the progress. Lanes owns requests that lanes share. Constructors start nothing. A reader that leaves does not
// cancel a request that others wait for.
//
// The package serves no client, and never checks a client's permissions. The caller authorizes a request before it gets
// a Reflector.
package reflector
