package facade

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// shutdown contains the stages of a shutdown, which are like those of kube-apiserver (doc.go).
type shutdown struct {
	begun    context.Context // cancelled when the shutdown begins
	draining context.Context // cancelled when watches must end and new watches are refused
	leaving  context.Context // cancelled when all other requests are refused, too
	begin    context.CancelFunc
	drain    context.CancelFunc
	leave    context.CancelFunc

	underWay atomic.Int64  // number of requests in progress
	idle     chan struct{} // after leaving is cancelled, receives a value when the last request ends
}

func newShutdown(ctx context.Context) *shutdown {
	ctx = context.WithoutCancel(ctx)
	s := &shutdown{idle: make(chan struct{}, 1)}
	s.begun, s.begin = context.WithCancel(ctx)
	s.draining, s.drain = context.WithCancel(ctx)
	s.leaving, s.leave = context.WithCancel(ctx)
	return s
}

func (s *shutdown) end() {
	s.begin()
	s.drain()
	s.leave()
}

func (s *shutdown) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.underWay.Add(1)
		defer func() {
			if s.underWay.Add(-1) == 0 && s.leaving.Err() != nil {
				select {
				case s.idle <- struct{}{}:
				default:
				}
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *shutdown) empty(ctx context.Context) {
	for s.underWay.Load() > 0 {
		select {
		case <-s.idle: // the value may be old, so the loop checks again
		case <-ctx.Done():
			return
		}
	}
}

// cutOffTime is how long handlers may take to return after their connections were closed.
const cutOffTime = 5 * time.Second

// finish shuts the server down. inOrder is true for a requested shutdown, which begins with the delay, and false after
// the failure of a part.
func (f *Facade) finish(ctx context.Context, inOrder bool) {
	f.shutdown.begin()
	if delay := f.config.ShutdownDelay; inOrder && delay > 0 {
		f.log.Info("Shutting down; not ready, but still serving", zap.Duration("for", delay))
		<-time.After(delay)
	}
	f.log.Info("Draining")
	f.shutdown.drain()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.config.WatchTermination+f.config.ShutdownGrace)
	defer cancel()
	if f.config.SendRetryAfter {
		f.shutdown.leave()
		f.shutdown.empty(ctx)
	}
	err := f.server.Shutdown(ctx)
	f.shutdown.leave()
	f.shutdown.empty(ctx) // the server does not wait for websockets
	if err != nil {
		f.log.Warn("Requests were cut off at the end of the grace period", zap.Error(err))
		_ = f.server.Close()
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cutOffTime)
	defer cancel()
	f.shutdown.empty(ctx) // waits for the audit events and metrics of the requests that were cut off
}
