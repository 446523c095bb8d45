// Package cache keeps the objects of one resource by resourceVersion. It serves reads of the objects at an RV, watches
// of the events after an RV, and waits until the cache has reached an RV.
//
// # Vocabulary
//
//	Object      one object as the upstream encoded it, with the attributes that were read from its bytes
//	packed      compressed with a dictionary of the lane (Lane.Fill, Lane.Pack). Only encodings (internal/wire) read
//	            packed bytes
//	block       a piece of memory that contains the packed bytes of several objects of one list
//	Page        a run of about 64 neighbouring objects, which States share. Its compressed representations are stored
//	            with it (wire.Precompressed) and dropped when a writer replaces the page
//	Selection   an iteration over the objects of a State that a predicate selects, page by page
//	State       every object of a lane at one RV, immutable
//	index       the objects of a State that have a property (a label or a selectable field), ordered by its value. A
//	            lane is created with some indexes. It builds others when lists compare many objects that do not match
//	History     the events of a lane in order, bounded by age and bytes. It always keeps the events that
//	            kube-apiserver's watch cache would keep
//	feed        the events of history that concern one predicate, shared by all watchers with that predicate
//	anchor      the rarest requirement of a feed's predicate: a key, one of some values of a label or field, the
//	            presence of a label, or some shards. An event is compared only with feeds whose anchor its object
//	            matches or matched. A predicate without a rare requirement has no anchor
//	Watcher     one subscription: a cursor into history first, into a feed afterwards
//	Lane        one resource in one encoding: the current State, its history, its feeds
//	epoch       the life of a lane between two upstream lists that replace its content. A replayed list ends no epoch
//	lost window a range of RVs in an epoch for which the lane received no events. Lane.Replay fills it with the
//	            differences between the State before it and the list after it
//	complete    a lane is complete up to n when it has applied every event at or before n
//	partial     a written State that may lack deletions at its own RV. With Options.ReadFromEtcd, several deletions
//	            may have one RV. Readers see the content before the first of these, at the previous RV
//	past        the content and history of a lane, which another lane can restore (Tail, Filling.Restore)
//	vouched     a State that readers see at a higher RV than the last event or bookmark. The caller has confirmed
//	            in another way that the upstream's content at that RV is the same (Lane.Vouch)
//
// # How it works
//
// Write: Lane.Apply builds the next State from the current one. It copies only the changed page and the slices that
// lead to this page. It appends the event to history, publishes the State with one atomic store, and wakes the
// dispatcher. The dispatcher reads history after the writer. It finds the feeds that an event may concern and evaluates
// each predicate once. It appends the event to the feeds, and after some events wakes the watchers of the feeds that
// grew. Finally, it raises the RV up to which feeds are complete. The writer therefore never waits for predicates, and
// watchers of one feed share the result.
//
// Feeds without an anchor are compared with every event. They follow history separately (follower), because feeds
// with an anchor must not wait for them.
//
// List: load the State pointer and iterate over its pages (Selection), or over those of an index. This takes no lock
// and copies nothing, and the reader may take any time. The indexer counts the objects that lists compared without a
// match. When an index would have cost less, the indexer builds one from a State. It applies the events since that
// State, and adds the index to the newest State.
//
// Watch: join the predicate's feed, read history between the start and the moment of joining, then read the feed. A
// feed keeps only the position of an event in history and its type; the objects are in history. A watcher that stops
// reading therefore costs eight bytes per event and keeps no object alive.
//
// # Invariants
//
// Code and tests cite the invariants by number. Each number is named by a test.
//
//	I1   A published RV never decreases within an epoch.
//	I2   States, pages, objects and events are immutable. An object's bytes may be stored in another way, with the
//	     same content.
//	I3   A watcher receives each event once, in RV order. Deletions of a lost window come at the RV where it begins.
//	I4   A bookmark at RV n follows every matching event at or before n (Watcher.Progress).
//	I5   A list at n and a watch from n together lose no event and repeat none.
//	I6   A read or watch at an RV below the history window fails; it never skips events (ExpiredError).
//	I7   An object that leaves a selector is DELETED with its previous content; one that enters it is ADDED.
//	I8   A slow watcher delays neither the writer nor another watcher, and no predicate delays the writer.
//	I9   An index only proposes candidates; the predicate decides.
//	I10  The State is complete at the RV that a response carries.
//	I11  An upstream relist after a lost window never loses events silently. Either it starts a new epoch and watchers
//	     end with an error, or Replay sends watchers all differences, deletions first. A client that received only some
//	     of these may resume at a server that lost no events, and also ends with the correct content.
//	I12  Inside a replayed lost window no read is served, no watch starts, and no watcher is complete.
//
// With LISTFACADE_VERIFY=1 in the environment, a lane checks its complete structure after every write. A large lane is
// checked only after several events. The first violation causes a panic. This is for tests.
//
// # Goroutines and locks
//
// An epoch has one goroutine, its dispatcher. The writer starts the dispatcher when feeds lack events and no dispatcher
// is running. The dispatcher ends when feeds lack no event, or with the epoch. A lane has at most one goroutine that
// builds an index. A reader starts it when enough comparisons without a match have been counted. Lane.Close waits for
// both goroutines. The package starts no other goroutine: Lane.Pack runs on the caller's goroutine and returns soon
// after the lane is closed.
//
// Writers (Lane.Replace, Replay, Apply, Progress, Vouch, Trim, Close, and the build of an index) exclude each other
// with a mutex. Readers take it only in Vouch. Work on a complete list is therefore done before taking it.
//
// Reading a State takes no lock. After a read, the reader only tries to take the indexer's lock and never waits for it.
// Two locks are held for a few map operations each. The writer and readers that wait for an RV share the lock of the
// lane's waiters. The dispatcher and readers that open or close a watcher share the lock of the epoch's feeds. The
// writer takes this lock only to end an epoch or to wake watchers after a replay. Predicates are evaluated under the
// lock of the feeds, a bounded number at a time, even if an event concerns more. Code that holds either lock never
// blocks, calls back or encodes. A Watcher belongs to one goroutine.
//
// Packing first takes a separate lock. It takes the writers' lock only to exchange some pointers and to read the
// bounds of history.
//
// The package never decodes an object and never sends a request to the upstream. It copies an object's bytes only in
// these cases:
//   - to compress them, or to move compressed bytes
//   - to write another resourceVersion into the last content of an object that leaves a selector (I7), once per event
//   - to encode an event as a frame that several watchers share (Watcher.Frame)
package cache
