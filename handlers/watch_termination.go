package handlers

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// minEndsPerSecond is the minimum number of watches that end per second, even if the grace period is long, as in
// kube-apiserver.
const minEndsPerSecond = 200

// watchTermination ends watches during the shutdown. The ends are spread over time, because each client immediately
// connects to another server.
type watchTermination struct {
	draining context.Context // cancelled when watches must end
	grace    time.Duration   // maximum time until the last watch ends

	open  atomic.Int64
	begun sync.Once
	over  time.Duration // time over which watches end; the first call of delay sets it
}

func newWatchTermination(draining context.Context, grace time.Duration) *watchTermination {
	return &watchTermination{draining: draining, grace: grace}
}

func (p *watchTermination) has() bool { return p.draining.Err() != nil }

// follow registers a watch. During the shutdown, a goroutine calls end at most once. The caller must call stop when the
// watch has ended for any reason.
func (p *watchTermination) follow(end func()) (stop func()) {
	p.open.Add(1)
	over := make(chan struct{})
	left := context.AfterFunc(p.draining, func() {
		wait := p.delay()
		if wait == 0 {
			end()
			return
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-over:
		}
	})
	return func() {
		left()
		close(over)
		p.open.Add(-1)
	}
}

func (p *watchTermination) delay() time.Duration {
	p.begun.Do(func() {
		p.over = min(p.grace, time.Duration(p.open.Load())*time.Second/minEndsPerSecond)
	})
	if p.over <= 0 {
		return 0
	}
	return rand.N(p.over)
}
