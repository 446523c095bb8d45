package facade

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// shutdown is how the process ends, stage by stage, as kube-apiserver does: it says that it is not ready, goes on for
// Config.ShutdownDelay so that nobody is sent to it any more, ends watches, lets requests finish, and closes.
type shutdown struct {
	asked    context.Context // ends when the end was asked for
	draining context.Context // ends when watches are to end, and none is to begin
	leaving  context.Context // ends when all other requests are refused, too
	ask      context.CancelFunc
	drain    context.CancelFunc
	leave    context.CancelFunc

	underWay atomic.Int64  // requests
	idle     chan struct{} // has something when there was a moment without any
}

func newShutdown(ctx context.Context) *shutdown {
	ctx = context.WithoutCancel(ctx)
	s := &shutdown{idle: make(chan struct{}, 1)}
	s.asked, s.ask = context.WithCancel(ctx)
	s.draining, s.drain = context.WithCancel(ctx)
	s.leaving, s.leave = context.WithCancel(ctx)
	return s
}

// end is called when it is over, however it came to that.
func (s *shutdown) end() {
	s.ask()
	s.drain()
	s.leave()
}

// count knows how many requests are under way.
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

// empty waits until no request is under way, or the context ends.
func (s *shutdown) empty(ctx context.Context) {
	for s.underWay.Load() > 0 {
		select {
		case <-s.idle: // which may have been earlier
		case <-ctx.Done():
			return
		}
	}
}

// cutOffTime is how long requests may take to notice that their connections were closed.
const cutOffTime = 5 * time.Second

// finish ends serving, after the delay where the process is asked to end, and without it where a part of it has failed.
func (f *Facade) finish(ctx context.Context, inOrder bool) {
	f.shutdown.ask()
	if delay := f.config.ShutdownDelay; inOrder && delay > 0 {
		f.log.Info("shutting down: not ready any more, and serving on", zap.Duration("for", delay))
		<-time.After(delay)
	}
	f.log.Info("draining")
	f.shutdown.drain()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.config.WatchTermination+f.config.ShutdownGrace)
	defer cancel()
	if f.config.SendRetryAfter {
		f.shutdown.leave()
		f.shutdown.empty(ctx)
	}
	err := f.server.Shutdown(ctx)
	f.shutdown.leave()
	f.shutdown.empty(ctx) // the server does not know of websockets
	if err != nil {
		f.log.Warn("requests were cut off at the end of the grace period", zap.Error(err))
		_ = f.server.Close()
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cutOffTime)
	defer cancel()
	f.shutdown.empty(ctx) // what they tell of themselves at their end is not lost
}
