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
	// HistoryWindow is how long events are kept. Default 10 minutes: more than the 5 minutes between two of the
	// upstream's own compactions (semantics 2.3).
	HistoryWindow time.Duration
	// HistoryBytes bounds the memory that only history keeps alive. Default 256 MiB.
	HistoryBytes int64
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
// until the upstream's window is lost and a relist calls Replace again. Several streams may write, as a fence does
// beside the main watch, provided that each started at or below the lane's RV: what both bring is dropped by RV.
type Lane struct {
	options  Options
	state    atomic.Pointer[State] // as written; nil before the first Replace and after Close
	vouched  atomic.Pointer[State] // what readers see instead when its RV is higher: see Vouch
	closed   chan struct{}         // closed by Close
	waiters  waiters
	counters counters

	writing   sync.Mutex // held by every writer, by no reader
	expecting bool       // a list is on its way: see Expect
	verifying bool       // check the whole lane after every write
}

// NewLane returns a lane that is not ready yet.
func NewLane(o Options) *Lane {
	if o.HistoryWindow <= 0 {
		o.HistoryWindow = defaultHistoryWindow
	}
	if o.HistoryBytes <= 0 {
		o.HistoryBytes = defaultHistoryBytes
	}
	l := &Lane{options: o, closed: make(chan struct{}), verifying: verifyEverything}
	l.waiters.init()
	return l
}

// Replace makes an upstream list at rv the lane's content and starts a new epoch: the watchers of the last one end
// with *ExpiredError (I11). objects may come in any order; the slice stays the caller's. It does nothing after Close.
func (l *Lane) Replace(rv RV, shape wire.Shape, objects []*Object) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return
	}
	e := newEpoch(l)
	s := newState(e, rv, shape, objects)
	e.begin(s)
	last := l.state.Load()
	l.publish(s)
	l.counters.relists.Add(1)
	if last != nil {
		last.epoch.finish(last, &ExpiredError{Oldest: rv})
	}
	l.verifyIfAsked()
}

// Apply takes one upstream event. It refuses with ErrOutOfOrder what is not newer than the lane, with one exception:
// a Delete at the lane's own RV of a key that is still present, because the upstream deletes several `events` in one
// transaction when their lease ends (semantics 4.4; such a State is complete at its RV only after the last of them,
// and the upstream sends no bookmarks for that resource). A Delete of a key that is not present only moves the RV.
func (l *Lane) Apply(c Change) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil {
		return l.absence()
	}
	rv := c.Object.RV
	before, present := s.Get(c.Object.Key)
	if rv < s.rv || rv == s.rv && (c.Kind != Delete || !present) {
		return ErrOutOfOrder
	}
	switch {
	case c.Kind == Upsert:
		l.advance(s, rv, before, c.Object, nil)
	case present:
		l.advance(s, rv, before, nil, c.Object)
	default:
		l.progress(s, rv)
	}
	l.counters.applied.Add(1)
	l.verifyIfAsked()
	return nil
}

// advance makes one event true, in this order: in history, so that whoever sees the State finds the event that led to
// it; in the State; in the feeds; and last in the RV up to which watchers may believe to have seen everything (I4).
func (l *Lane) advance(s *State, rv RV, before, now, deletion *Object) {
	next := s.after(rv, before, now)
	e := s.epoch
	recorded := e.history.append(change{rv: rv, before: before, now: now, deletion: deletion, state: next, at: time.Now()})
	l.publish(next)
	e.feeds.dispatch(s.seq, recorded)
	e.complete.Store(uint64(rv))
}

// Progress takes an upstream bookmark: the lane is complete up to rv. An rv that does not rise is ignored.
func (l *Lane) Progress(rv RV) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil || rv <= s.rv {
		return
	}
	l.progress(s, rv)
	s.epoch.history.trim(time.Now())
	l.verifyIfAsked()
}

func (l *Lane) progress(s *State, rv RV) {
	l.publish(s.at(rv))
	s.epoch.complete.Store(uint64(rv))
}

// Close stops the lane: watchers end with io.EOF, everything else with ErrClosed. It is idempotent.
func (l *Lane) Close() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return
	}
	close(l.closed)
	l.vouched.Store(nil)
	if s := l.state.Swap(nil); s != nil {
		s.epoch.finish(s, io.EOF)
	}
}

func (l *Lane) publish(s *State) {
	l.state.Store(s)
	if v := l.vouched.Load(); v != nil && (v.epoch != s.epoch || v.rv <= s.rv) {
		l.vouched.Store(nil) // it would keep old pages alive
	}
	l.waiters.reached(s.rv)
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
