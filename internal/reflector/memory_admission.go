package reflector

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Memory is the memory for lanes. Implementations must be safe for concurrent use.
type Memory interface {
	// Fits reports whether lanes may allocate the given number of further bytes. It may drop other lanes for that.
	Fits(bytes int64) bool
	// Spares reports whether the given number of further bytes is available without dropping anything.
	Spares(bytes int64) bool
}

type unlimited struct{}

func (unlimited) Fits(int64) bool { return true }

func (unlimited) Spares(int64) bool { return true }

// ErrNoMemory is returned if there is not enough memory for a lane.
var ErrNoMemory = errors.New("there is no memory for this resource")

// ErrTooLarge is returned if a lane exceeds the memory limit of its resource.
var ErrTooLarge = errors.New("the resource exceeds its memory limit")

// NoMemoryError is returned while a lane is not filled for lack of memory. After is the time until the next attempt.
type NoMemoryError struct {
	Resource string
	After    time.Duration
}

func (e *NoMemoryError) Error() string { return fmt.Sprintf("%s: %v", e.Resource, ErrNoMemory) }

// Unwrap returns ErrNoMemory.
func (e *NoMemoryError) Unwrap() error { return ErrNoMemory }

// The first and the longest pause before a lane that did not fit into memory is filled again.
const (
	noMemoryPauseAtFirst = 5 * time.Second
	noMemoryPauseAtMost  = 5 * time.Minute
)

// memoryAdmission records the lanes that did not fit into memory. Such a lane is filled again after a growing pause,
// and only if the memory that it needed is available. Safe for concurrent use.
type memoryAdmission struct {
	mu sync.Mutex // guards the map, which has at most one entry per resource and encoding
	of map[laneKey]lack
}

type lack struct {
	bytes int64 // estimated need
	pause time.Duration
	until time.Time
}

func newMemoryAdmission() *memoryAdmission { return &memoryAdmission{of: map[laneKey]lack{}} }

// note records that a lane did not fit, and how many bytes it needs. The pause doubles each time. If the last pause
// ended longer ago than noMemoryPauseAtMost, pauses start at noMemoryPauseAtFirst again.
func (r *memoryAdmission) note(key laneKey, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, pause := r.of[key], noMemoryPauseAtFirst
	if time.Since(was.until) < noMemoryPauseAtMost {
		pause = min(2*was.pause, noMemoryPauseAtMost)
	}
	r.of[key] = lack{bytes: bytes, pause: pause, until: time.Now().Add(pause)}
}

// find returns a *NoMemoryError while a lane must not be filled. A lane without a record is always admitted, because it
// may be small. The caller must not hold a lock of Lanes, because memory.Fits may drop lanes.
func (r *memoryAdmission) find(key laneKey, memory Memory) error {
	lacked, left := r.left(key)
	if left <= 0 && (lacked.bytes < lookEvery || memory.Fits(lacked.bytes)) {
		return nil
	}
	if left <= 0 {
		// Without the new pause, each request would free memory again without success. The recorded need is an estimate that
		// ignores compression, so it is halved each time. After enough attempts, the lane is filled again.
		left = min(2*max(lacked.pause, noMemoryPauseAtFirst), noMemoryPauseAtMost)
		r.mu.Lock()
		r.of[key] = lack{bytes: lacked.bytes / 2, pause: left, until: time.Now().Add(left)}
		r.mu.Unlock()
	}
	return &NoMemoryError{Resource: key.gvr.GroupResource().String(), After: left}
}

func (r *memoryAdmission) left(key laneKey) (lack, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lacked := r.of[key]
	return lacked, time.Until(lacked.until)
}

// lookEvery is the number of bytes by which a lane grows between two checks of the memory.
const lookEvery = 1 << 20

// quota is the memory that a lane may use while it is filled.
type quota struct {
	lane      *lane
	memory    Memory
	admission *memoryAdmission
	limit     int64 // maximum size of the lane in bytes; 0 is unlimited
	looked    int64 // size of the list at the last memory check, in bytes
}

// admit returns ErrTooLarge if the given number of bytes exceeds the lane's limit, or ErrNoMemory if memory is
// exhausted.
func (q *quota) admit(bytes int64) error {
	switch {
	case q.limit > 0 && bytes > q.limit:
		return fmt.Errorf("%w: %d MiB", ErrTooLarge, q.limit>>20)
	case !q.memory.Fits(0):
		return ErrNoMemory
	}
	return nil
}

// fits is like admit, but for a list that fills the lane. bytes is the size of the list so far. If there is no memory
// for the list, fits records the estimated need of the lane.
func (q *quota) fits(bytes int64) error {
	if bytes < q.looked { // a new list
		q.looked = 0
	}
	if bytes-q.looked < lookEvery {
		return nil
	}
	q.looked = bytes
	err := q.admit(bytes)
	if !errors.Is(err, ErrNoMemory) {
		return err
	}
	f := &q.lane.fill
	needs := float64(bytes)
	if objects, all := f.objects.Load(), cmp.Or(f.expected.Load(), f.before.objects); objects > 0 && all > objects {
		needs *= float64(all) / float64(objects)
	}
	q.admission.note(q.lane.key(), int64(needs))
	return fmt.Errorf("%w: filled %d MiB of about %d MiB; --memory-budget limits the memory of all lanes", ErrNoMemory,
		bytes>>20, int64(needs)>>20)
}

// endLarge ends the lanes that exceed the memory limit of their resource.
func (l *Lanes) endLarge() {
	for _, r := range l.All() {
		if limit := l.config.Resources[r.Resource.GVR.GroupResource()].Memory; limit > 0 && r.Memory() > limit {
			select {
			case r.wrong <- fmt.Errorf("%w: %d MiB", ErrTooLarge, limit>>20):
			default: // the lane already ends or is listed again
			}
		}
	}
}

const unread = time.Minute

// DropUnread stops unwatched lanes that were not read for a minute, except kept and tiny lanes, until it has freed the
// given number of bytes. It returns how many bytes the stopped lanes used. The lanes are stopped in the order of
// DropColdest.
func (l *Lanes) DropUnread(bytes int64) int64 {
	return l.drop(bytes, func(r *Reflector) bool {
		return !r.kept.Load() && r.Cache.Stats().Watchers == 0 && r.idleFor() > unread
	})
}

// DropColdest stops lanes, except tiny lanes, until it has freed the given number of bytes. It returns how many bytes
// the stopped lanes used. Lanes that are not filled yet are stopped first, and kept lanes last. Among the others, lanes
// with fewer watches come first, then lanes that were last read longer ago.
func (l *Lanes) DropColdest(bytes int64) int64 {
	return l.drop(bytes, func(*Reflector) bool { return true })
}

// tiny sets the minimum size of a lane that drop stops: 1/tiny of the wanted bytes. To stop a smaller lane would free
// little memory, and make many clients list again.
const tiny = 64

func (l *Lanes) drop(bytes int64, matches func(*Reflector) bool) (freed int64) {
	for _, r := range byWarmth(l.All()) {
		if freed >= bytes {
			break
		}
		if memory := r.Memory(); memory > bytes/tiny && matches(r) && l.removeForMemory(r, memory) {
			freed += memory
		}
	}
	return freed
}

// byWarmth sorts lanes in the order in which they are dropped.
func byWarmth(lanes []*Reflector) []*Reflector {
	type warmth struct {
		lane     *Reflector
		class    int
		watchers int64
		idle     time.Duration
	}
	all := make([]warmth, 0, len(lanes))
	for _, r := range lanes {
		w := warmth{lane: r, class: 1, watchers: r.Cache.Stats().Watchers, idle: r.idleFor()}
		if _, err := r.Cache.State(); err != nil {
			w.class = 0 // no client has read the lane yet
		} else if r.kept.Load() {
			w.class = 2
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b warmth) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.watchers, b.watchers), cmp.Compare(b.idle, a.idle))
	})
	lanes = lanes[:0]
	for _, w := range all {
		lanes = append(lanes, w.lane)
	}
	return lanes
}

// removeForMemory stops a lane, which ends its watches. It returns false if the lane was already removed.
func (l *Lanes) removeForMemory(r *Reflector, memory int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life == nil || l.reflectors[r.key()] != r {
		return false
	}
	delete(l.reflectors, r.key())
	l.admission.note(r.key(), memory)
	l.background.Go(r.stop)
	l.log.Warn("Lane stopped: the memory is needed", zap.String("resource", r.Resource.GVR.GroupResource().String()),
		zap.String("encoding", r.Encoding.Name()), zap.Int64("bytes", memory))
	return true
}

// Shorten reduces the history of lanes to the length that kube-apiserver keeps, until it has freed the given number of
// bytes. It returns how many bytes it freed. Lanes with the largest history come first.
func (l *Lanes) Shorten(bytes int64) (freed int64) {
	lanes, sizes := l.All(), map[*Reflector]int64{}
	for _, r := range lanes {
		sizes[r] = r.Cache.Stats().HistoryBytes
	}
	slices.SortStableFunc(lanes, func(a, b *Reflector) int { return cmp.Compare(sizes[b], sizes[a]) })
	for _, r := range lanes {
		if freed >= bytes {
			break
		}
		freed += r.Cache.Shorten()
	}
	return freed
}
