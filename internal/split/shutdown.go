package split

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/upstream"
)

// cutOffTime is how long handlers may take to return after their requests were cut off.
const cutOffTime = 5 * time.Second

// shutdown is the staged shutdown of the proxy, like the shutdown of a facade. The proxy fails /readyz, waits until
// load balancers notice, ends watches, lets other requests and sessions finish, and cuts off the rest.
type shutdown struct {
	begun, draining, cutOff context.Context
	begin, drain, cut       context.CancelFunc

	mu       sync.Mutex // guards the fields below
	inFlight int
	idle     chan struct{} // closed when inFlight is 0 after draining began; nil before
	period   time.Duration // over which watches end
}

func newShutdown() *shutdown {
	s := &shutdown{}
	s.begun, s.begin = context.WithCancel(context.Background())
	s.draining, s.drain = context.WithCancel(context.Background())
	s.cutOff, s.cut = context.WithCancel(context.Background())
	return s
}

func (s *shutdown) end() {
	s.begin()
	s.drain()
	s.cut()
}

// enter counts a request, and returns a context that is cancelled when the shutdown must end the request. The caller
// calls leave when the request has ended.
func (s *shutdown) enter(ctx context.Context, d Decision) (entered context.Context, leave func()) {
	s.mu.Lock()
	s.inFlight++
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	ends := []func() bool{context.AfterFunc(s.cutOff, func() { cancel(nil) })}
	if d.Watch {
		ends = append(ends, context.AfterFunc(s.draining, func() { s.endWatch(ctx, cancel) }))
	}
	return ctx, func() {
		for _, stop := range ends {
			stop()
		}
		cancel(nil)
		s.leave()
	}
}

// endWatch ends a watch at a random time of the period, so that clients do not all reconnect at once.
func (s *shutdown) endWatch(ctx context.Context, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	period := s.period
	s.mu.Unlock()
	select {
	case <-time.After(time.Duration(rand.Float64() * float64(period))):
	case <-ctx.Done():
	}
	cancel(upstream.ErrEnd)
}

func (s *shutdown) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight--; s.inFlight == 0 && s.idle != nil && !isClosed(s.idle) {
		close(s.idle)
	}
}

// startDrain ends watches over a period, and returns a channel that is closed when no request is in flight.
func (s *shutdown) startDrain(period time.Duration) <-chan struct{} {
	s.mu.Lock()
	s.period, s.idle = period, make(chan struct{})
	if s.inFlight == 0 {
		close(s.idle)
	}
	idle := s.idle
	s.mu.Unlock()
	s.drain()
	return idle
}

// finish shuts the server down. inOrder is false if a part has failed: the shutdown then begins without a delay.
func (s *Split) finish(inOrder bool) {
	s.shutdown.begin()
	c := s.options.Serving
	if inOrder && c.ShutdownDelay > 0 {
		s.log.Info("Shutting down; not ready, but still serving", zap.Duration("for", c.ShutdownDelay))
		<-time.After(c.ShutdownDelay)
	}
	s.log.Info("Draining")
	idle := s.shutdown.startDrain(c.WatchTermination)
	ctx, cancel := context.WithTimeout(context.Background(), c.WatchTermination+c.ShutdownGrace)
	defer cancel()
	err := s.server.Shutdown(ctx)
	select {
	case <-idle: // the server does not wait for upgraded connections
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.shutdown.cut()
	if err != nil {
		s.log.Warn("Requests were cut off at the end of the grace period", zap.Error(err))
		_ = s.server.Close()
	}
	select {
	case <-idle:
	case <-time.After(cutOffTime):
	}
}
