package reflector

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// olderKept is how long a complete log of all objects serves further watches. When a facade ends, its clients open
	// their watches at another facade within this time. selectedKept is this time for a log of one selection, which few
	// watches share.
	olderKept    = time.Minute
	selectedKept = 5 * time.Second
	// olderFailedFor is how long the error of a failed log is returned to further watches.
	olderFailedFor = 5 * time.Second
	// olderLogBytes is the maximum memory of one log; olderBytes is the maximum of all logs of all lanes together.
	olderLogBytes = 64 << 20
	olderBytes    = 256 << 20
	// olderOverhead is the memory of an empty log, without its key.
	olderOverhead = 1 << 10
)

// everything is the key of the log without selectors.
var everything = Selection{Labels: labels.Everything(), Fields: fields.Everything()}.key()

type olderMemory struct {
	memory Memory
	bytes  atomic.Int64
}

func (m *olderMemory) take(bytes int64) bool {
	if m.bytes.Add(bytes) > olderBytes || !m.memory.Spares(bytes) {
		m.bytes.Add(-bytes)
		return false
	}
	return true
}

// olderLog contains the events of one selection from before a lane's history. Watches that begin at or above the field
// after can share the log. The log is complete when done is closed, and does not change after that.
type olderLog struct {
	store *olderStore
	key   string
	done  chan struct{}

	// Guarded by store.mu until done is closed:
	after cache.RV
	turn  func() // ends the turn of the caller that began the log; nil until that caller has stored it

	users int   // number of users: watches, the store, and the goroutine that reads befores; guarded by store.mu
	bytes int64 // memory that take has counted for the log

	// Set before done is closed:
	events  []olderEvent
	unknown []*cache.Object // objects in their first event, if their content before this event is unknown
	shape   wire.Shape
	upTo    cache.RV
	err     error
	epoch   uint64
	ended   time.Time

	last    map[string]*cache.Object // last content of objects with an event; nil if deleted. Only for readLog
	befores befores
}

func newLog(s *olderStore, key string, after cache.RV) *olderLog {
	return &olderLog{store: s, key: key, after: after, done: make(chan struct{}), last: map[string]*cache.Object{},
		befores: befores{resolved: make(chan struct{}), objects: map[string]*cache.Object{}}}
}

func (l *olderLog) await(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hasTurn stores the turn of the caller that began the log. It returns false if the log already has a turn or is done.
func (l *olderLog) hasTurn(leave func()) bool {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.turn != nil || l.isDone() {
		return false
	}
	l.turn = leave
	return true
}

func (l *olderLog) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// take counts memory of the log. It returns false if there is too little memory.
func (l *olderLog) take(bytes int64) bool {
	if l.bytes+bytes > olderLogBytes || !l.store.memory.take(bytes) {
		return false
	}
	l.bytes += bytes
	l.store.bytes.Add(bytes)
	return true
}

// give frees memory that take has counted.
func (l *olderLog) give(bytes int64) {
	l.store.memory.bytes.Add(-bytes)
	l.store.bytes.Add(-bytes)
	l.bytes -= bytes
}

func (l *olderLog) least() int64 { return olderOverhead + int64(len(l.key)) }

// leave ends the use of the log by one watch. After the last use, the log's memory is freed.
func (l *olderLog) leave() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.release()
}

// release does the work of leave. The caller holds store.mu.
func (l *olderLog) release() {
	if l.users--; l.users > 0 {
		return
	}
	l.give(l.bytes)
	l.events, l.unknown, l.befores.objects = nil, nil, nil
}

// serves reports whether a watch can use the log, or can wait for it. A log that was read without error serves a watch
// only while the lane is in the log's epoch and the lane's history continues the log. A log that failed serves watches
// from the same version or lower ones, which would also fail.
func (l *olderLog) serves(after cache.RV, lane *cache.Lane) bool {
	if !l.isDone() {
		return after >= l.after
	}
	switch {
	case l.epoch != lane.Epochs() || time.Since(l.ended) > l.keptFor():
		return false
	case l.err != nil:
		return after <= l.after
	}
	return after >= l.after && lane.Continues(l.upTo)
}

func (l *olderLog) keptFor() time.Duration {
	switch {
	case l.err != nil:
		return olderFailedFor
	case l.key == everything:
		return olderKept
	}
	return selectedKept
}
