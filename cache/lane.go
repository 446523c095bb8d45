package cache

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Options configures a lane. The zero value is for a namespaced kind, without indexes and with the default window.
type Options struct {
	// Scope says whether the lane's objects are namespaced.
	Scope selectors.Scope
	// Indexes are the properties by which the lane orders its objects in addition to their keys.
	Indexes []Index
	// ReadFromEtcd says that the upstream has no watch cache for the resource. Then several deletions may have the same
	// RV (semantics 4.4).
	ReadFromEtcd bool
	// HistoryWindow is how long history keeps an event. The default is 10 minutes: more than the 5 minutes between two
	// compactions of the upstream (semantics 2.3).
	HistoryWindow time.Duration
	// HistoryBytes limits the memory that only history keeps alive, in bytes. The default is 512 MiB. In any case, history
	// keeps the events that kube-apiserver would keep: the events of the last 75 s, up to 102,400, and the last 100 events
	// (semantics 4.1). A lane with 1,000 events a second of 15 KB objects can therefore take 1.1 GB.
	HistoryBytes int64
	// Packing says which objects the lane keeps compressed. By default, it compresses none.
	Packing Packing
}

const (
	// DefaultHistoryWindow is the default of Options.HistoryWindow.
	DefaultHistoryWindow = 10 * time.Minute
	defaultHistoryBytes  = 512 << 20
)

// Lane is the cache of one resource in one encoding.
//
// To read: State is one pointer load. At finds an older State in history. WaitFor waits until the lane has reached an
// RV. Watch opens a watcher.
//
// To write, in upstream order: Replace once for a list, then Apply for each event and Progress for each bookmark. When
// the upstream cannot continue a watch from the lane's RV, call Replay with a new list, or Replace if Replay fails.
// Several streams may write, for example a progress watch and the main watch, if each started at or below the lane's
// RV. An event that several streams bring is applied once.
type Lane struct {
	options  Options
	floor    floor
	state    atomic.Pointer[State] // newest written State; nil before the first epoch and after Close
	shown    atomic.Pointer[State] // State that readers see; older than a partial written State, or newer if vouched
	closed   chan struct{}         // closed by Close
	waiters  waiters
	counters counters
	indexer  indexer
	running  sync.WaitGroup // counts the dispatchers; grows only while writing is held

	dictionary atomic.Pointer[learned] // dictionary of packed objects; nil until there are enough objects
	packing    sync.Mutex              // held while changed objects are packed; taken before the mutex writing
	packer     packer                  // guarded by packing

	writing    sync.Mutex // held by every writer, and by readers in Vouch
	expecting  bool       // whether a list is expected (Expect)
	verifying  bool
	unverified int // events since the last verify
}

// NewLane returns a lane without content.
func NewLane(o Options) *Lane {
	if o.HistoryWindow <= 0 {
		o.HistoryWindow = DefaultHistoryWindow
	}
	if o.HistoryBytes <= 0 {
		o.HistoryBytes = defaultHistoryBytes
	}
	l := &Lane{options: o, floor: watchCacheFloor, closed: make(chan struct{}), verifying: verifyEverything}
	l.waiters.init()
	l.indexer.init(l)
	return l
}

// Replace makes an upstream list at rv the lane's content and starts a new epoch. Watchers of the last epoch end with
// *ExpiredError (I11). The objects may be in any order; the caller keeps the slice. After Close it does nothing.
func (l *Lane) Replace(rv RV, shape wire.Shape, objects []*Object) {
	e := newEpoch(l)
	s := newState(e, rv, shape, objects)
	e.history = newHistory(s, e.keep, l.leaves)
	l.begin(s)
}

// begin publishes the first State of a new epoch. After Close it does nothing and returns false.
func (l *Lane) begin(s *State) bool {
	s.epoch.begin(s)
	saved := s.saved() // computed before taking the lock, because it visits all objects
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return false
	}
	last := l.state.Load()
	l.counters.relists.Add(1) // counted before a reader can see the State
	l.publish(s)
	l.counters.saved.Store(saved)
	l.counters.filling.Store(0)
	if last != nil {
		l.counters.sparse.Store(0) // the blocks of the previous objects are freed with them
		last.epoch.finish(last, &ExpiredError{Oldest: s.rv})
	}
	l.verifyIfEnabled()
	return true
}

// Apply applies one upstream event. It returns ErrOutOfOrder for an event that is not newer than the lane. It returns
// ErrLateDeletion for the Delete of an existing key at the lane's own RV, at which the lane is already complete. A
// newer Delete of a key that does not exist only advances the RV.
//
// A lane with ReadFromEtcd accepts more Deletes of existing keys at its own RV. When a lease ends, etcd deletes several
// objects in one transaction (semantics 4.4). Watchers receive each deletion immediately. Apply cannot know which
// deletion is the last, so readers see the content before the first one, at the previous RV. This ends when the lane
// advances, or when a caller vouches for the RV (I10).
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
	l.verifyAfterEvent()
	return nil
}

// advance applies one event. It writes history first, because a reader of the new State must find the event that led to
// this State. The dispatcher comes last (I4).
func (l *Lane) advance(s *State, rv RV, before, now, deletion *Object) {
	next := s.record(change{rv: rv, before: before, now: now, deletion: deletion, at: time.Now()})
	l.countSaved(before, now)
	s.epoch.vouched = nil
	l.publish(next)
	s.epoch.written(next)
}

func (s *State) record(c change) *State {
	c.state = s.after(c.rv, c.before, c.now)
	s.epoch.history.append(c)
	return c.state
}

func (l *Lane) countSaved(before, now *Object) {
	if before != nil {
		l.counters.saved.Add(-before.saved())
	}
	if now != nil {
		l.counters.saved.Add(now.saved())
	}
}

// Progress applies an upstream bookmark: the lane is complete up to rv. It ignores an rv that is not above the complete
// RV.
func (l *Lane) Progress(rv RV) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil || rv <= s.whole() {
		return
	}
	l.progress(s.at(rv))
	s.epoch.history.trim(time.Now())
	l.verifyAfterEvent()
}

// Trim drops events and lane-built indexes that are no longer needed. Call it periodically.
func (l *Lane) Trim() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if s := l.state.Load(); s != nil {
		now := time.Now()
		s.epoch.history.trim(now)
		l.dropUnneeded(s, now)
	}
}

// Shorten drops the events that kube-apiserver would not keep, and returns the number of bytes freed. Watchers whose
// position is lost end with *ExpiredError, as after Trim.
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
	l.verifyIfEnabled()
	return max(before-h.bytes.Load(), 0)
}

// progress publishes s, which has the content of the previous State.
func (l *Lane) progress(s *State) {
	l.publish(s)
	s.epoch.written(s)
}

// Close stops the lane. Watchers end with io.EOF; reads and Apply return ErrClosed. No goroutine of the lane runs when
// Close returns. Close is idempotent.
func (l *Lane) Close() {
	l.close()
	l.indexer.close() // without the mutex writing, because the build of an index may wait for it
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

// publish makes s the written State. When s is partial, readers see the content before the first deletion, which is
// complete at the previous RV.
func (l *Lane) publish(s *State) {
	last := l.state.Swap(s)
	switch {
	case !s.partial:
		l.show(s)
	case last.rv < s.rv:
		l.show(last.at(s.rv - 1))
	}
}

// show makes s visible to readers, unless they have seen a later RV of the epoch (I1).
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

func (l *Lane) absence() error {
	if l.isClosed() {
		return ErrClosed
	}
	return ErrNotReady
}
