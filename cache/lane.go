package cache

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Options are what a lane is made with. The zero value is a namespaced kind without indexes and the default window.
type Options struct {
	// Scope says whether the lane's objects live in namespaces.
	Scope selectors.Scope
	// Indexes are kept beside the key order.
	Indexes []Index
	// ReadFromEtcd: the upstream keeps no watch cache of the resource, and several deletions may be at one RV
	// (semantics 4.4).
	ReadFromEtcd bool
	// HistoryWindow is how long events are kept. Default 10 minutes: more than the 5 minutes between two of the
	// upstream's own compactions (semantics 2.3).
	HistoryWindow time.Duration
	// HistoryBytes bounds the memory that only history keeps alive. Default 256 MiB. Whatever these two are, what
	// kube-apiserver itself would keep is kept: the events of the last 75 s, but of these no more than the last
	// 102,400, and the last 100 however old (semantics 4.1). So a lane whose objects change for 75 s at 1,000 events a
	// second and 15 KB an object takes 1.1 GB.
	HistoryBytes int64
	// Packing says which objects are kept compressed. Default none.
	Packing Packing
}

const (
	defaultHistoryWindow = 10 * time.Minute
	defaultHistoryBytes  = 256 << 20
)

// Lane is the cache of one resource in one encoding.
//
// To read: State is one pointer load; At finds an older State in history; WaitFor waits until the lane is fresh
// enough; Watch opens a cursor.
//
// To write, in upstream order: Replace once for a list, then Apply for each event and Progress for each bookmark,
// until the upstream's window is lost and a relist calls Replay or, where that fails, Replace again. Several streams
// may write, as a fence does beside the main watch, provided that each started at or below the lane's RV: what both
// bring is dropped by RV.
type Lane struct {
	options  Options
	floor    floor
	state    atomic.Pointer[State] // as written; nil before the first Replace and after Close
	shown    atomic.Pointer[State] // what readers see: below it while it is partial, above it when more is vouched for
	closed   chan struct{}         // closed by Close
	waiters  waiters
	counters counters
	indexer  indexer
	running  sync.WaitGroup // dispatchers; added to with writing held

	dictionary atomic.Pointer[learned] // what objects are packed against; nil until there are enough of them
	packing    sync.Mutex              // held by who packs what has changed; taken before writing
	packer     packer                  // guarded by packing

	writing    sync.Mutex // held by every writer, by no reader
	expecting  bool       // a list is on its way: see Expect
	verifying  bool       // check the whole lane after writes: see verifyEventIfAsked
	unverified int        // events since the last check
}

// NewLane returns a lane that is not ready yet.
func NewLane(o Options) *Lane {
	if o.HistoryWindow <= 0 {
		o.HistoryWindow = defaultHistoryWindow
	}
	if o.HistoryBytes <= 0 {
		o.HistoryBytes = defaultHistoryBytes
	}
	l := &Lane{options: o, floor: watchCacheFloor, closed: make(chan struct{}), verifying: verifyEverything}
	l.waiters.init()
	l.indexer.init(l)
	return l
}

// Replace makes an upstream list at rv the lane's content and starts a new epoch: the watchers of the last one end
// with *ExpiredError (I11). objects may come in any order; the slice stays the caller's. It does nothing after Close.
func (l *Lane) Replace(rv RV, shape wire.Shape, objects []*Object) {
	e := newEpoch(l)
	s := newState(e, rv, shape, objects)
	e.history = newHistory(s, e.keep, l.leaves)
	l.begin(s)
}

// begin lets an epoch begin for readers, with its newest State. After Close it does nothing, and returns false.
func (l *Lane) begin(s *State) bool {
	s.epoch.begin(s)
	saved := s.saved() // of all objects: so not under the lock
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return false
	}
	last := l.state.Load()
	l.publish(s)
	l.counters.saved.Store(saved)
	l.counters.filling.Store(0)
	l.counters.relists.Add(1)
	if last != nil {
		l.counters.sparse.Store(0) // the blocks of what was there go with it
		last.epoch.finish(last, &ExpiredError{Oldest: s.rv})
	}
	l.verifyIfAsked()
	return true
}

// Apply takes one upstream event. It refuses with ErrOutOfOrder what is not newer than the lane, and with
// ErrLateDeletion the Delete of a key that is present at the lane's own RV, of which the lane was said to hold
// everything. A Delete of a key that is not present only moves the RV.
//
// A lane that is ReadFromEtcd takes further Deletes at its own RV, of keys that are still present: when a lease ends
// the upstream deletes several objects in one transaction (semantics 4.4). Watchers see each as it comes, but nothing
// tells which is the last. So readers see what was before the first, under the RV before, until the lane is above that
// RV or somebody vouches for it (I10).
func (l *Lane) Apply(c Change) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return l.absence()
	}
	rv := c.Object.RV
	before, present := s.Get(c.Object.Key())
	together := l.options.ReadFromEtcd && c.Kind == Delete
	switch {
	case rv == s.rv && present && c.Kind == Delete && !together:
		return ErrLateDeletion
	case rv < s.rv || rv == s.rv && (!together || !present):
		return ErrOutOfOrder
	}
	switch {
	case c.Kind == Upsert:
		l.advance(s, rv, before, c.Object, nil)
	case present:
		l.advance(s, rv, before, nil, c.Object)
	default:
		moved := s.at(rv)
		moved.partial = together
		l.progress(moved)
	}
	l.counters.applied.Add(1)
	l.verifyEventIfAsked()
	return nil
}

// advance makes one event true, in this order: in history, so that whoever sees the State finds the event that led to
// it; in the State; and then, by the dispatcher, in the feeds and in the RV up to which watchers may believe to have
// seen everything (I4).
func (l *Lane) advance(s *State, rv RV, before, now, deletion *Object) {
	next := s.record(rv, before, now, deletion)
	l.countSaved(before, now)
	s.epoch.vouched = nil
	l.publish(next)
	s.epoch.written(next)
}

// record puts the event that leads on from the newest State into history, and returns what it leads to.
func (s *State) record(rv RV, before, now, deletion *Object) *State {
	next := s.after(rv, before, now)
	s.epoch.history.append(change{rv: rv, before: before, now: now, deletion: deletion, state: next, at: time.Now()})
	return next
}

// countSaved counts what packing saves of the State when an object takes the place of another; either may be nil.
func (l *Lane) countSaved(before, now *Object) {
	if before != nil {
		l.counters.saved.Add(-before.saved())
	}
	if now != nil {
		l.counters.saved.Add(now.saved())
	}
}

// Progress takes an upstream bookmark: the lane is complete up to rv. An rv that says nothing new is ignored.
func (l *Lane) Progress(rv RV) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil || rv <= s.whole() {
		return
	}
	l.progress(s.at(rv))
	s.epoch.history.trim(time.Now())
	l.verifyEventIfAsked()
}

// Trim drops what history need no longer keep, which every write does, too, and the indexes that the lane has built for
// itself and needs no more. It is to be called now and then.
func (l *Lane) Trim() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if s := l.state.Load(); s != nil {
		now := time.Now()
		s.epoch.history.trim(now)
		l.dropUnneeded(s, now)
	}
}

// Shorten drops all of history but what kube-apiserver itself would keep, and returns how many bytes that were. Clients
// whose place is lost by that are told as by every Trim.
func (l *Lane) Shorten() (bytes int64) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return 0
	}
	h := s.epoch.history
	before := h.bytes.Load()
	h.trimTo(h.keep.least(), time.Now())
	l.verifyIfAsked()
	return max(before-h.bytes.Load(), 0)
}

// progress makes s, of the same content, the State.
func (l *Lane) progress(s *State) {
	l.publish(s)
	s.epoch.written(s)
}

// Close stops the lane: watchers end with io.EOF, everything else with ErrClosed. Nothing of it runs when Close
// returns. It is idempotent.
func (l *Lane) Close() {
	l.close()
	l.indexer.close() // without writing, which it may be waiting for
}

func (l *Lane) close() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return
	}
	close(l.closed)
	l.shown.Store(nil)
	l.counters.filling.Store(0)
	if s := l.state.Swap(nil); s != nil {
		s.epoch.finish(s, io.EOF)
	}
	l.running.Wait()
}

// publish makes s the written State. Of one that is partial readers see what it grew from: that is whole once there is
// an event above it.
func (l *Lane) publish(s *State) {
	last := l.state.Swap(s)
	switch {
	case !s.partial:
		l.show(s)
	case last.rv < s.rv:
		l.show(last.at(s.rv - 1))
	}
}

// show lets readers see s, unless they have seen a later RV (I1).
func (l *Lane) show(s *State) {
	if now := l.shown.Load(); now == nil || now.epoch != s.epoch || now.rv <= s.rv {
		l.shown.Store(s)
		l.waiters.reached(s.rv)
	}
}

func (l *Lane) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// absence says why there is no State.
func (l *Lane) absence() error {
	if l.isClosed() {
		return ErrClosed
	}
	return ErrNotReady
}
