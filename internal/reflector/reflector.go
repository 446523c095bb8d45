package reflector

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// Lane is one resource's cache together with the reader that fills it.
type Reflector struct {
	Cache    *cache.Lane
	Resource upstream.Resource

	reader *reader
	prover *fresh.Prover

	kind         atomic.Pointer[selectors.Kind]
	bookmark     atomic.Pointer[Bookmark]
	warnings     atomic.Pointer[[]string]
	failure      atomic.Pointer[Failure]
	disconnected atomic.Int64 // unix nanoseconds since when no stream is open; 0 while one is
	used         atomic.Int64 // unix nanoseconds of the last request
	marked       atomic.Bool  // the upstream was seen to send a bookmark

	mu      sync.Mutex    // guards changed and stopped
	changed chan struct{} // closed and replaced when kind or failure change
	stopped bool

	life       context.Context // ends when the lane is stopped; shared work outlives the request that began it
	cancel     context.CancelFunc
	background sync.WaitGroup // the reader, probes and fences
	done       chan struct{}  // closed when all of them have ended
}

// Bookmark is what a bookmark of the lane's kind looks like, plain and as a row of a Table.
type Bookmark struct {
	Template *bookmarks.Template
	Cells    []byte
}

// Failure is why a lane is not filled at the moment.
type Failure struct {
	Err  error
	When time.Time
	// Refused: the lane ended, because the upstream will not let the facade list or watch this resource (401, 403, 404, 405,
	// 406) or because the resource was redefined; requests for it are the upstream's to answer.
	Refused bool
}

// Gone tells whether the upstream does not know the resource as the lane does: discovery has to be read again.
func (f *Failure) Gone() bool {
	return f.Refused && (upstream.HasCode(f.Err, http.StatusNotFound) || errors.Is(f.Err, errRedefined))
}

// Kind is how the lane's objects are selected; nil until the upstream was asked.
func (l *Reflector) Kind() *selectors.Kind { return l.kind.Load() }

// Bookmark is what a bookmark of this kind looks like; never nil once the lane is synced.
func (l *Reflector) Bookmark() *Bookmark { return l.bookmark.Load() }

// Marked tells whether the upstream has sent a bookmark of the resource. Without them a lane does not hear of versions that
// other resources move to.
func (l *Reflector) Marked() bool { return l.marked.Load() }

// Warnings are the Warning headers that the upstream puts on answers for this resource, because its API is deprecated.
func (l *Reflector) Warnings() []string {
	if warnings := l.warnings.Load(); warnings != nil {
		return *warnings
	}
	return nil
}

// Failure is why the lane is not filled; nil when nothing is wrong.
func (l *Reflector) Failure() *Failure { return l.failure.Load() }

// StaleFor is how long the lane has not heard the upstream; 0 while its watch is open.
func (l *Reflector) StaleFor() time.Duration {
	since := l.disconnected.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// AwaitSync waits until the lane is synced, has failed, or the wait is over; what came first is for the caller to look at.
func (l *Reflector) AwaitSync(ctx context.Context, wait time.Duration) {
	if _, err := l.Cache.State(); err == nil {
		return // almost always, and without a lock
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed := l.change()
		if _, err := l.Cache.State(); err == nil || l.Failure() != nil {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-l.done:
			return
		}
	}
}

// Recent is a State that holds every write that was finished before the request arrived, as the upstream was asked to prove. fresh.ErrUnproven
// means that this could not be shown with that much patience. ctx is the request's: unless the patience is full, the upstream is
// taken to be busy with the answer instead until it ends.
func (l *Reflector) Recent(ctx context.Context, arrived time.Time, patience fresh.Patience) (*cache.State, error) {
	return l.prover.Recent(ctx, arrived, patience)
}

// Now is the upstream's resourceVersion at some moment after the call began; the lane need not have reached it.
func (l *Reflector) Now(ctx context.Context) (cache.RV, error) { return l.prover.Now(ctx) }

// Reach brings the lane up to a resourceVersion that it may not have heard of because its resource is quiet. It returns
// when the lane is there; fresh.ErrUnproven when the upstream itself is not, or when it could not be shown in time.
func (l *Reflector) Reach(ctx context.Context, rv cache.RV, patience fresh.Patience) error {
	return l.prover.Reach(ctx, rv, patience)
}

func (l *Reflector) touch() { l.used.Store(time.Now().UnixNano()) }

func (l *Reflector) change() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *Reflector) announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Reflector) fail(f *Failure) {
	l.failure.Store(f)
	l.announce()
}

func (l *Reflector) connected() {
	if l.disconnected.Load() != 0 { // every event comes by
		l.disconnected.Store(0)
	}
}

func (l *Reflector) lost() { l.disconnected.CompareAndSwap(0, time.Now().UnixNano()) }

// refusedFor is how long a refusal is believed; then the next request makes the facade ask again.
const refusedFor = 5 * time.Second

// overdue tells whether the lane ended, and whether it is time to try again: at once if the resource is known to have
// changed.
func (l *Reflector) overdue(now upstream.Resource) bool {
	f := l.Failure()
	if f == nil || !f.Refused {
		return false
	}
	return l.Resource != now || errors.Is(f.Err, errRedefined) || time.Since(f.When) > refusedFor
}

// Start implements fresh.Filler.
func (l *Reflector) Start(work func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.background.Go(func() { work(l.life) })
	}
	return !l.stopped
}

// Fence implements fresh.Filler.
func (l *Reflector) Fence(ctx context.Context) { l.reader.fence(ctx) }

// SetBack implements fresh.Filler.
func (l *Reflector) SetBack() { l.reader.setBack() }

// stop ends the lane's work and returns when its goroutines have ended.
func (l *Reflector) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.cancel()
	l.background.Wait()
	close(l.done)
}
