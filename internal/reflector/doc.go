// Package reflector fills lanes: it list-watches the upstream and is the only writer of the caches.
//
// Lanes holds one Reflector for each resource that somebody reads. A Reflector is a cache.Lane with what fills it
// (writer), what proves it fresh (internal/fresh), and what is known of its resource.
//
// It promises:
//   - each lane costs the upstream one list and one watch, however many clients read from it; the list comes page by
//     page, the objects as they cost the upstream least, two pages in memory at most
//     (docs/adr/0017-lanes-are-filled-by-pages.md);
//   - where there are peers, the first list of a lane of built-in resources is one of theirs, if the upstream confirms
//     that it has been at its version, and the watch is the upstream's all the same (warm.go,
//     docs/adr/0020-facades-read-facades.md);
//   - where the process before has left a snapshot of the lane that the upstream confirms, the lane goes on from that,
//     history included; at the end each lane leaves one (restore.go, docs/adr/0024-lanes-leave-snapshots.md);
//   - a watch that ends is resumed at the last resourceVersion that the lane is complete up to, after a jittered,
//     growing delay; nothing is skipped and what arrives twice is dropped by resourceVersion (I3);
//   - one that broke off is not resumed in another cluster, where the upstream tells which it is (lost_window.go);
//   - a watch on which bookmarks came and then nothing for two of their distances is cut and resumed, and its lane
//     counts as one that was not heard since;
//   - when the upstream no longer holds that resourceVersion (410), the lane is listed again, and its watches are told
//     what the list has otherwise (lost_window.go, docs/adr/0021-gaps-are-bridged.md);
//   - where that cannot be told, and when the upstream has been set back before that resourceVersion, prints other
//     columns, or is of another version, which may write objects in another way, a new epoch begins (I11); a version
//     that is not told is no other one, and versions that take turns are listed for at growing pauses (version.go);
//   - a 401 or 403 leaves a lane that was filled before as it is, and is tried again at growing distances; the lane
//     ends when the refusal has lasted half a minute, or at once when the upstream's authorizer confirms it;
//   - when a custom resource is redefined its lane ends, so that no request is parsed with another kind than its
//     State's, and nothing is proven of objects in a form that they have no more: one watch follows all definitions,
//     and each proof asks for that of its lane (redefinition.go, docs/adr/0032-definitions-are-confirmed.md);
//   - what the upstream sends is believed only if it fits together: anything else is an error, tried again at growing
//     distances, while the lane keeps its last State;
//   - objects are cut out of the upstream's lists and frames as bytes and are never decoded; what is printed of an
//     object stands beside it only if it names it;
//   - a lane that does not fit in the memory that there is gives up while it is being filled, and is not filled again
//     before there is as much as it needs (memory_admission.go, docs/adr/0019-memory-has-a-budget.md);
//   - while consistent reads need it, the versions of built-in resources without a lane are heard of by watches of
//     their metadata, of which nothing else is kept (accounts.go, docs/adr/0033-versions-are-accounted-for.md);
//   - each lane is compared with the upstream now and then, page by page at exact versions; what differs is told, and
//     the lane listed again (selfaudit.go, docs/adr/0023-lanes-are-audited.md);
//   - how far a list is that takes long is told: in the log, and to whoever asks (Progress).
//
// Goroutines: Lanes.Run stops idle lanes and has one for the self-audit, and one for account watches, which owns one
// for each of them; whoever calls it owns it. Each Reflector owns the goroutine of its writer, those of its prover's
// questions and fences, and waits for them when it is stopped. A writer owns the goroutine that cuts its stream into
// steps and, while it lists, those that fetch pages and tell how far it is. Questions that lanes share belong to Lanes.
// Nothing is started by a constructor, and a reader who leaves takes no question of others along.
//
// The package answers no client, and never asks whether somebody may read: who gets a Reflector was authorized before.
package reflector
