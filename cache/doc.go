// Package cache keeps the objects of one resource by resourceVersion (RV). It serves reads at an RV and watches of the
// events after an RV. Readers can wait until the cache has reached an RV.
//
// # Vocabulary
//
//	Object      one object as the upstream encoded it, with the attributes that selectors use
//	packed      compressed with a dictionary of the lane. Only internal/wire reads packed bytes
//	block       a piece of memory that contains the packed bytes of several objects
//	Page        a sequence of about 64 neighbouring objects, which States share. Its compressed representations are
//	            stored with it and dropped when a writer replaces the page
//	Selection   an iteration over the objects of a State that a predicate selects
//	State       every object of a lane at one RV, immutable
//	index       the objects of a State that have a property (a label or a selectable field), ordered by its value.
//	            Options.Indexes names some. The lane builds others when lists compare many objects without a match
//	History     the events of a lane in order, bounded by age and bytes. It always keeps the events that
//	            kube-apiserver's watch cache would keep
//	feed        the events of history that concern one predicate, shared by all watchers with that predicate
//	anchor      the rarest requirement of a feed's predicate: a key, one of some values of a label or field, the
//	            presence of a label, or some shards. Of the feeds with an anchor, an event is compared only with those
//	            whose anchor its object matches or matched. A predicate without a rare requirement has no anchor
//	Watcher     one subscription: a cursor, first in history, then in a feed
//	Lane        one resource in one encoding: the current State, its history, its feeds
//	epoch       the time between two upstream lists that replace a lane's content. A replayed list ends no epoch
//	lost window a range of RVs in an epoch for which the lane received no events. Lane.Replay fills the window with
//	            the differences between the State before the window and the list after it
//	complete    a lane is complete up to an RV when it has applied every event at or before this RV
//	partial     a written State that may lack deletions at its own RV. With Options.ReadFromEtcd, several deletions
//	            may have one RV. Readers see the content before the first of these, at the previous RV
//	past        the content and history of a lane, which another lane can restore (Tail, Filling.Restore)
//	vouched     a State that readers see at an RV above the last event or bookmark. The caller has confirmed in
//	            another way that the upstream has the same content at this RV (Lane.Vouch)
//
// # How it works
//
// Write: Lane.Apply builds the next State from the current one. It copies only the changed pages and the slices that
// lead to them. It appends the event to history, publishes the State, and starts the dispatcher. The dispatcher finds
// the feeds that the event may concern, and evaluates the predicate of each of them once. It appends the event to the
// feeds whose predicate selects the object before or after the event. The writer therefore evaluates no predicates, and
// watchers of one feed share the result.
//
// Feeds without an anchor are compared with every event. They follow history separately (follower), because feeds
// with an anchor must not wait for them.
//
// List: load the State pointer and iterate over its pages (Selection), or over those of an index. This takes no lock
// and copies no object, and the reader may take any time. The indexer counts the objects that lists compared without a
// match. When an index would have cost less, the indexer builds one.
//
// Watch: join the predicate's feed, read history between the start and the moment of joining, then read the feed. A
// feed keeps only the position of an event in history and the event's type. A watcher that stops reading therefore
// costs eight bytes per event of its feed. A watcher keeps objects alive only while it has initial events left.
//
// # Invariants
//
// Code and tests cite the invariants by number. At least one test names each number.
//
//	I1   A published RV never decreases within an epoch.
//	I2   States, pages, objects and events are immutable. Packing may replace the stored bytes of an object, but not
//	     its content.
//	I3   A watcher receives each event once, in RV order. Deletions of a lost window come at the RV where it begins.
//	I4   A bookmark at RV n follows every matching event at or before n (Watcher.Progress).
//	I5   A list at n and a watch from n together lose no event and repeat none.
//	I6   A read or watch at an RV below the history window fails; it never skips events (ExpiredError).
//	I7   An object that leaves a selector is DELETED with its previous content; one that enters it is ADDED.
//	I8   A slow watcher delays neither the writer nor another watcher, and no predicate delays the writer.
//	I9   An index only proposes candidates; the predicate decides.
//	I10  The State is complete at the RV that a response carries.
//	I11  An upstream relist after a lost window never loses events silently. Either it starts a new epoch and watchers
//	     end with an error, or Replay sends watchers all differences, deletions first. A client that received only
//	     some differences may resume at a server that lost no events, and also ends with the correct content.
//	I12  No read is served and no watch starts at an RV inside a replayed lost window. No bookmark has such an RV.
//
// For tests: with LISTFACADE_VERIFY=1 in the environment, a lane checks its structure after each write. A large lane
// checks only after several events. The first violation causes a panic.
//
// # Goroutines and locks
//
// An epoch has at most one goroutine, its dispatcher, which runs while feeds lack events. A lane has at most one
// goroutine that builds an index. Lane.Close waits for both. The package starts no other goroutine: Lane.Pack runs on
// the caller's goroutine and returns soon after the lane is closed.
//
// Writers (among them Vouch and the build of an index) exclude each other with the mutex Lane.writing. A writer
// processes a complete list before it takes this mutex, because Vouch takes the mutex for readers.
//
// Reading a State takes no lock. After a read, the reader only tries to take the indexer's lock and never waits for it.
// Two locks are held for a short time. The writer and readers that wait for an RV share the lock of the lane's waiters.
// The dispatcher and readers that open or close a watcher share the lock of the epoch's feeds. The writer takes the
// lock of the feeds only to end an epoch or to wake watchers after a replay. The dispatcher evaluates a bounded number
// of predicates before it releases this lock. Code that holds either lock never blocks, calls back or encodes.
//
// Packing first takes the lock Lane.packing. It takes Lane.writing only to exchange some pointers and to read the
// bounds of history.
//
// The package never decodes an object and never sends a request to the upstream. It copies an object's bytes only in
// these cases:
//   - to compress them, or to move compressed bytes
//   - to write another resourceVersion into the last content of an object that leaves a selector (I7)
//   - to encode an event as a frame that several watchers share (Watcher.Frame)
package cache
