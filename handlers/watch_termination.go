package handlers

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// partedAtLeast is how many watches end in a second, however long all of them may take: as in kube-apiserver.
const partedAtLeast = 200

// parting ends watches when the server begins to shut down, not all of them at once: each of their clients comes back
// at once, to whichever server is left.
type watchTermination struct {
	draining context.Context // ends when it begins
	grace    time.Duration   // the last watch ends so long after that at the latest

	open  atomic.Int64
	begun sync.Once
	over  time.Duration // over what time watches end; set when it has begun
}

func newWatchTermination(draining context.Context, grace time.Duration) *watchTermination {
	return &watchTermination{draining: draining, grace: grace}
}

// has tells whether it has begun.
func (p *watchTermination) has() bool { return p.draining.Err() != nil }

// follow calls end, once and in a goroutine of its own, when it is the turn of the watch that begins. stop is called
// when the watch is over, however it ended.
func (p *watchTermination) follow(end func()) (stop func()) {
	p.open.Add(1)
	over := make(chan struct{})
	left := context.AfterFunc(p.draining, func() {
		wait := p.delay()
		if wait == 0 {
			end()
			return
		}
		turn := time.NewTimer(wait)
		defer turn.Stop()
		select {
		case <-turn.C:
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

// turn is when one of the watches ends, from now on.
func (p *watchTermination) delay() time.Duration {
	p.begun.Do(func() {
		p.over = min(p.grace, time.Duration(p.open.Load())*time.Second/partedAtLeast)
	})
	if p.over <= 0 {
		return 0
	}
	return rand.N(p.over)
}
