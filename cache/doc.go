// Package cache holds one resource's objects by resourceVersion and answers three questions about them: what was true
// at RV n, what happened after n, and has the cache reached n.
//
// # Vocabulary
//
//	Object    one object as the upstream encoded it, and what was read out of its bytes
//	packed    kept compressed against a dictionary of the lane: an object's bytes, when there are many and it has lived
//	          for a while (Lane.Fill, Lane.Pack). Nothing but their encoding looks at the bytes
//	block     a piece of memory in which the packed bytes of a list's objects stand side by side
//	Page      a run of about 64 neighbouring objects, the unit of reuse: what it looks like in compressed lists is kept
//	          with it (wire.Precompressed), and goes when a writer replaces it
//	Selection a walk over what a predicate selects of a State, page by page
//	State     every object of a lane at one RV, immutable
//	index     the objects of a State that have a property (a label, a selectable field), by its value: those that a lane
//	          is made with, and those that it builds by itself because lists would look at many objects in vain
//	History   the events of a lane in order, within a window of time and a budget of bytes, and at least those that
//	          kube-apiserver would hold
//	feed      the history as one predicate sees it, shared by all watchers with that predicate
//	anchor    what a predicate requires of an object and by which its feed is found: a key, one of some values of a
//	          label or field, or that a label is there. Only feeds anchored at what an event's object has or had are
//	          asked. Of what a predicate requires the rarest is its feed's anchor; a predicate that requires nothing
//	          that is rare has none
//	Watcher   one subscription: a cursor into history first, into a feed afterwards
//	Lane      one resource in one encoding: the current State, its history, its feeds
//	epoch     the life of a lane between two upstream lists, unless the second goes on with what the first began
//	gap       a part of an epoch of which no events came, bridged by what a comparison of the State before it with the
//	          list behind it finds (Lane.Replay)
//	complete  a lane is complete up to n when it holds the effect of every event at or before n
//	partial   a written State that may lack deletions at its own RV, of which the upstream may have several
//	          (Options.ReadFromEtcd); readers see what was before the first of them, under the RV before
//	past      what a lane holds, as another lane can be told it (Lane.Past, Lane.Restore)
//	vouched   a State that is shown at a higher RV than events have brought the lane to, because something else has
//	          shown that the upstream's content there is the same (Lane.Vouch)
//
// # How it works
//
// To write: Lane.Apply builds the next State from the current one, copying only the path to the page that changes;
// appends the event to history; publishes the State with one atomic store; and wakes the dispatcher. That reads history
// behind the writer: it finds the feeds that an event concerns, evaluates each of their predicates once, appends, and
// after some events wakes the watchers of the feeds that grew. Last, it moves the RV up to which feeds are complete. So
// no predicate is evaluated while the writer waits, however many there are; and watchers of one feed share the result.
// Feeds without an anchor are asked about every event, one by one. They follow history by themselves (follower), so
// that who is found by an anchor never waits until they all were asked.
//
// To list: load the State pointer and walk its pages (Selection), or those of an index. No lock, no copy, for as long
// as the reader likes. What a walk looked at in vain the indexer counts; when an index would have cost less, it builds
// one from a State, lets it catch up by history, and the writer adds it to the newest State.
//
// To watch: join the predicate's feed, read from history what lies between the start and the moment of joining, then
// read the feed. A feed keeps only the position of an event in history and its type; the objects live in history, so
// a watcher that stopped reading holds eight bytes an event and no object.
//
// # Invariants
//
// Code and tests cite them by number, and a test names each.
//
//	I1   A published RV never goes back within an epoch.
//	I2   States, pages, objects and events are immutable; what an object's bytes are kept as is not, what they are is.
//	I3   A watcher sees each event once, in RV order; what is gone of a gap comes at the RV where the gap begins.
//	I4   A bookmark at RV n follows every matching event at or before n (Watcher.Progress).
//	I5   A list at n and a watch from n have no gap and no repeat.
//	I6   An RV below the window is refused, never skipped (ExpiredError).
//	I7   Leaving a selector is DELETED with the previous content, entering it is ADDED.
//	I8   A slow watcher delays neither the writer nor another watcher, and no predicate delays the writer.
//	I9   An index only proposes; the predicate decides.
//	I10  A response's RV is one at which the State is complete.
//	I11  An upstream relist after a lost window starts a new epoch: watchers are told, never shown a quiet gap. Or the gap
//	     is bridged: watchers are told of all that the list has otherwise, first of what they have no more. Whoever has
//	     been told of some of it, and goes on from there where nothing was lost, ends with what there is.
//	I12  Nothing is read inside a bridged gap, no watch starts there, and none is complete up to there.
//
// With LISTFACADE_VERIFY=1 in the environment, a lane checks its whole structure after every write, or after every so
// many events when it is large, and panics on the first violation. That is for tests.
//
// # Goroutines and locks
//
// An epoch has one goroutine, its dispatcher, started by the writer when feeds lack events and nobody brings them. It
// ends when they lack none, or with the epoch. A lane has one that builds an index, started by the reader who is the
// last to miss it. Lane.Close waits for both. Nothing else is started: Lane.Pack works on the goroutine that calls it,
// and ends soon after the lane was closed.
//
// Writers (Lane.Replace, Replay, Apply, Progress, Vouch, Trim, Close, and who adds an index) exclude each other with a
// mutex that a reader takes only to have a proof shown (Vouch): so what is made of a whole list is made before.
//
// Reading a State takes no lock; having read one tries that of the indexer, and waits for nobody. A writer and readers
// share one lock, held for a few map operations: that of the lane's waiters, which waiting for an RV takes. The
// dispatcher and readers share that of the epoch's feeds, which opening and closing a watcher takes; the writer takes
// it only to end an epoch. Predicates are asked under it, a bounded number at a time, which may be fewer than an event
// concerns. Nothing blocks, calls back or encodes under either. A Watcher belongs to one goroutine.
//
// Packing takes a lock of its own first, and that of the writers only to exchange some pointers and to look where
// history is.
//
// The package never decodes an object, never talks to the upstream, never copies an object's bytes, except to have
// them compressed, or moved when they are, to write another resourceVersion into the last content of an object that
// leaves a selector (I7), once per event, and to have an event written as a frame that all watchers share who are
// told the same (Watcher.Frame).
package cache
