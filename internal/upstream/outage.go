package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// fairWait is how long the upstream must have had for an answer when who asked gave up, for that to count against it.
const fairWait = time.Second

// outage is the clock of the upstream's outages, one for all that ask it: since when no question has been answered. The
// times keep their monotonic readings, so that setting the machine's clock ends no outage and makes none.
type outage struct {
	since atomic.Pointer[time.Time] // when the first question was asked that nothing was answered after; nil in no outage

	mu       sync.Mutex // guards answered
	answered time.Time  // when the last answer began

	trouble atomic.Pointer[Trouble] // of the last question that had no answer
}

// Trouble is why a question had no answer.
type Trouble struct {
	Err error
	At  time.Time
}

// lasted is 0 in no outage.
func (o *outage) lasted() time.Duration {
	since := o.since.Load()
	if since == nil {
		return 0
	}
	return max(time.Since(*since), 1)
}

func (o *outage) heard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = time.Now()
	o.since.Store(nil)
}

// unheard notes that there was no answer to a question; one that was asked before the last answer says nothing.
func (o *outage) silent(asked time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.Load() == nil && !asked.Before(o.answered) {
		o.since.Store(&asked)
	}
}

// listeningTransport tells the clock of each question whether it was answered, whatever the answer.
type listeningTransport struct {
	http.RoundTripper
	outage    *outage
	observers []Observer
}

// RoundTrip implements http.RoundTripper.
func (l listeningTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := time.Now()
	response, err := l.RoundTripper.RoundTrip(r)
	switch {
	case err == nil:
		l.outage.heard()
		l.tell(r, response.StatusCode, time.Since(asked))
	case r.Context().Err() == nil, gaveUp(r.Context(), asked):
		l.outage.silent(asked)
		l.outage.trouble.Store(&Trouble{Err: err, At: time.Now()})
		l.tell(r, 0, time.Since(asked))
	}
	return response, err
}

// tell tells the observers.
func (l listeningTransport) tell(r *http.Request, code int, took time.Duration) {
	for _, observer := range l.observers {
		observer.Asked(askedFor(r), code, took)
	}
}

// gaveUp tells whether who asked gave up because no answer came, rather than left.
func gaveUp(ctx context.Context, asked time.Time) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errLate) || errors.Is(cause, context.DeadlineExceeded) && time.Since(asked) >= fairWait
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (l listeningTransport) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
