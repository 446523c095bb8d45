package handlers

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// minEndsPerSecond is the minimum number of watches that end per second, even if the grace period is long.
// kube-apiserver has the same number.
const minEndsPerSecond = 200

// watchTermination ends watches when the server begins to shut down. It spreads their ends over time, because each
// client immediately reconnects to another server.
type watchTermination struct {
	draining context.Context // ends when the shutdown begins
	grace    time.Duration   // maximum time until the last watch ends

	open  atomic.Int64
	begun sync.Once
	over  time.Duration // time over which watches end; set when the shutdown begins
}

func newWatchTermination(draining context.Context, grace time.Duration) *watchTermination {
	return &watchTermination{draining: draining, grace: grace}
}

// has reports whether the shutdown has begun.
func (p *watchTermination) has() bool { return p.draining.Err() != nil }

// follow calls end in a goroutine, at most once, when the watch must end because of the shutdown. The caller calls stop
// at the end of the watch, whatever its cause.
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

// delay returns the time until one of the watches ends.
func (p *watchTermination) delay() time.Duration {
	p.begun.Do(func() {
		p.over = min(p.grace, time.Duration(p.open.Load())*time.Second/minEndsPerSecond)
	})
	if p.over <= 0 {
		return 0
	}
	return rand.N(p.over)
}
