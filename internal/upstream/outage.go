package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// fairWait is the minimum time after which a request counts as unanswered if its caller stops waiting. A shorter
// timeout of the caller does not show a failure of the upstream.
const fairWait = time.Second

// outage measures the time since the first unanswered request of a Client. The times keep their monotonic readings, so
// changes of the system clock have no effect.
type outage struct {
	since atomic.Pointer[time.Time] // when the first unanswered request was sent; nil without an outage

	mu       sync.Mutex // guards answered
	answered time.Time  // time when the last response began

	trouble atomic.Pointer[Trouble]
}

// Trouble contains the error and the time of a request that was not answered.
type Trouble struct {
	Err error
	At  time.Time
}

func (o *outage) lasted() time.Duration {
	since := o.since.Load()
	if since == nil {
		return 0
	}
	return max(time.Since(*since), 1)
}

func (o *outage) recordAnswer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = time.Now()
	o.since.Store(nil)
}

// recordSilence records that a request was not answered. It ignores a request that was sent before the last response.
func (o *outage) recordSilence(asked time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.Load() == nil && !asked.Before(o.answered) {
		o.since.Store(&asked)
	}
}

// outageTransport records in outage whether requests were answered. Any response is an answer.
type outageTransport struct {
	http.RoundTripper
	outage    *outage
	observers []Observer
}

func (t outageTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := time.Now()
	response, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err == nil:
		t.outage.recordAnswer()
		t.notify(r, response.StatusCode, time.Since(asked))
	case r.Context().Err() == nil, gaveUp(r.Context(), asked):
		t.outage.recordSilence(asked)
		t.outage.trouble.Store(&Trouble{Err: err, At: time.Now()})
		t.notify(r, 0, time.Since(asked))
	}
	return response, err
}

func (t outageTransport) notify(r *http.Request, code int, took time.Duration) {
	for _, observer := range t.observers {
		observer.Asked(askedFor(r), code, took)
	}
}

// gaveUp reports whether the caller stopped waiting because the upstream took too long.
func gaveUp(ctx context.Context, asked time.Time) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errLate) || errors.Is(cause, context.DeadlineExceeded) && time.Since(asked) >= fairWait
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t outageTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
