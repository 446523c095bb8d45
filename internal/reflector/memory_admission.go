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

// Memory is the memory that lanes may take; implementations must be safe for concurrent use.
type Memory interface {
	// Fits tells whether lanes may take so many bytes more; what is not needed may have been let go for it.
	Fits(bytes int64) bool
	// Spares tells whether so many bytes more are there without letting go of anything.
	Spares(bytes int64) bool
}

// endless is any amount of memory.
type endless struct{}

// Fits implements Memory.
func (endless) Fits(int64) bool { return true }

// Spares implements Memory.
func (endless) Spares(int64) bool { return true }

// ErrNoMemory says that a lane does not fit into the memory that there is.
var ErrNoMemory = errors.New("there is no memory for this resource")

// ErrTooLarge says that a lane needs more memory than its resource may take.
var ErrTooLarge = errors.New("the resource takes more memory than it may")

// NoMemoryError says of a lane that it is not filled because there is no memory for it, and when it is tried again.
type NoMemoryError struct {
	Resource string
	After    time.Duration
}

func (e *NoMemoryError) Error() string { return fmt.Sprintf("%s: %v", e.Resource, ErrNoMemory) }

// Unwrap returns ErrNoMemory.
func (e *NoMemoryError) Unwrap() error { return ErrNoMemory }

// How long it takes at least until a lane is filled again for which there was no memory, at first and after many times.
const (
	noMemoryPauseAtFirst = 5 * time.Second
	noMemoryPauseAtMost  = 5 * time.Minute
)

// rooms remembers the lanes for which there was no memory, so that none is filled only to be dropped: it is filled
// again when a pause is over, which grows, and there is as much as it needed. Safe for concurrent use.
type memoryAdmission struct {
	mu sync.Mutex // guards of; there are as many as there are resources
	of map[laneKey]lack
}

// lack is what one lane lacked.
type lack struct {
	bytes int64 // it needs, as far as it was filled
	pause time.Duration
	until time.Time
}

func newMemoryAdmission() *memoryAdmission { return &memoryAdmission{of: map[laneKey]lack{}} }

// note says that there was no room for a lane that needs so many bytes. Who had been there for longer than any pause
// begins anew with the shortest.
func (r *memoryAdmission) note(key laneKey, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, pause := r.of[key], noMemoryPauseAtFirst
	if time.Since(was.until) < noMemoryPauseAtMost {
		pause = min(2*was.pause, noMemoryPauseAtMost)
	}
	r.of[key] = lack{bytes: bytes, pause: pause, until: time.Now().Add(pause)}
}

// find fails with a *NoMemoryError while a lane is not to be filled. Which never lacked room is: it may be small.
// memory must not be asked with a lock of Lanes held.
func (r *memoryAdmission) find(key laneKey, memory Memory) error {
	lacked, left := r.left(key)
	if left <= 0 && (lacked.bytes < lookEvery || memory.Fits(lacked.bytes)) {
		return nil
	}
	if left <= 0 {
		// It is not looked again for each who asks: room may have been made in vain. What it needs was an estimate, of
		// objects that were not compressed yet: in the end it is tried.
		left = min(2*max(lacked.pause, noMemoryPauseAtFirst), noMemoryPauseAtMost)
		r.mu.Lock()
		r.of[key] = lack{bytes: lacked.bytes / 2, pause: left, until: time.Now().Add(left)}
		r.mu.Unlock()
	}
	return &NoMemoryError{Resource: key.gvr.GroupResource().String(), After: left}
}

// left is what a lane lacked, and how much of its pause.
func (r *memoryAdmission) left(key laneKey) (lack, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lacked := r.of[key]
	return lacked, time.Until(lacked.until)
}

// lookEvery is how many bytes a lane takes between two looks at how many there are.
const lookEvery = 1 << 20

// room fails with ErrTooLarge or ErrNoMemory when so many bytes are more than the lane may take, or than there are.
func (w *writer) admit(bytes int64) error {
	switch {
	case w.most > 0 && bytes > w.most:
		return fmt.Errorf("%w: %d MiB", ErrTooLarge, w.most>>20)
	case !w.memory.Fits(0):
		return ErrNoMemory
	}
	return nil
}

// fits fails as room does when the list that fills the lane, of which so many bytes are there, is not to go on, and
// notes what it needs.
func (w *writer) fits(bytes int64) error {
	if bytes < w.looked { // another list
		w.looked = 0
	}
	if bytes-w.looked < lookEvery {
		return nil
	}
	w.looked = bytes
	err := w.admit(bytes)
	if !errors.Is(err, ErrNoMemory) {
		return err
	}
	f := &w.reflector.fill
	needs := float64(bytes)
	if objects, all := f.objects.Load(), cmp.Or(f.expected.Load(), f.before.objects); objects > 0 && all > objects {
		needs *= float64(all) / float64(objects)
	}
	w.admission.note(w.reflector.key(), int64(needs))
	return fmt.Errorf("%w: %d MiB were filled of about %d; --memory-budget bounds what all lanes take", ErrNoMemory, bytes>>20, int64(needs)>>20)
}

// endLarge ends lanes that have grown beyond what their resource may take: it is passed through from then on.
func (l *Lanes) endLarge() {
	for _, r := range l.All() {
		if most := r.writer.most; most > 0 && r.Memory() > most {
			select {
			case r.writer.wrong <- fmt.Errorf("%w: %d MiB", ErrTooLarge, most>>20):
			default: // it ends already, or is listed again
			}
		}
	}
}

// unread is for how long nobody has read a lane that is let go for another.
const unread = time.Minute

// DropUnread stops lanes that nobody has read for a minute, and that are not to be kept, until they had so many bytes,
// and returns how many they had. Those that were not read for longest go first.
func (l *Lanes) DropUnread(bytes int64) int64 {
	return l.drop(bytes, func(r *Reflector) bool {
		return !r.kept.Load() && r.Cache.Stats().Watchers == 0 && r.idleFor() > unread
	})
}

// DropColdest stops the lane that was read least recently, and the next, until they had so many bytes, and returns how
// many they had. Lanes that are not filled yet go before all others; those that are watched come after them, and those
// to be kept last.
func (l *Lanes) DropColdest(bytes int64) int64 {
	return l.drop(bytes, func(*Reflector) bool { return true })
}

// tiny is how many lanes it would take at least to have what is wanted for one of them to be spared: many clients would
// list again for nothing.
const tiny = 64

func (l *Lanes) drop(bytes int64, may func(*Reflector) bool) (freed int64) {
	for _, r := range byWarmth(l.All()) {
		if freed >= bytes {
			break
		}
		if memory := r.Memory(); memory > bytes/tiny && may(r) && l.removeForMemory(r, memory) {
			freed += memory
		}
	}
	return freed
}

// byWarmth puts those first that are missed least.
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
			w.class = 0 // nobody has anything of it yet
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

// removeForMemory takes a lane out, if it still is one, and lets it end: its watches end as when a lane is idle.
func (l *Lanes) removeForMemory(r *Reflector, memory int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life == nil || l.reflectors[r.key()] != r {
		return false
	}
	delete(l.reflectors, r.key())
	l.admission.note(r.key(), memory)
	l.background.Go(r.stop)
	l.log.Warn("lane stopped: the memory is needed", zap.String("resource", r.Resource.GVR.GroupResource().String()),
		zap.String("encoding", r.Encoding.Name()), zap.Int64("bytes", memory))
	return true
}

// Shorten cuts the history of lanes to what kube-apiserver itself would keep, until so many bytes are free, and returns
// how many are. The longest goes first.
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
