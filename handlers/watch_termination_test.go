package handlers

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// Watches end over the grace period. Few watches end as fast as in kube-apiserver.
func TestWatchesEndOverGracePeriod(t *testing.T) {
	// With -race, a bubble crashes if many goroutines use timers that are due at the same time (golang/go#78156).
	// Watches that end immediately have no timer.
	for _, c := range []struct {
		watches int
		grace   time.Duration
		within  time.Duration
	}{
		{watches: 1000, grace: 0, within: 0},
		{watches: 1000, grace: 2 * time.Second, within: 2 * time.Second},
		{watches: 100, grace: time.Minute, within: time.Second / 2},
	} {
		bubble.Test(t, func(t *testing.T) {
			draining, drain := context.WithCancel(t.Context())
			p := newWatchTermination(draining, c.grace)
			var mu sync.Mutex
			var ends []time.Duration
			var began time.Time
			var ended sync.WaitGroup
			for range c.watches {
				ended.Add(1)
				over := make(chan struct{})
				stop := p.follow(func() {
					mu.Lock()
					defer mu.Unlock()
					ends = append(ends, time.Since(began))
					close(over)
				})
				go func() {
					defer ended.Done()
					<-over
					stop()
				}()
			}
			<-time.After(time.Hour)
			if len(ends) > 0 || p.has() {
				t.Fatalf("got %d ends before the shutdown", len(ends))
			}
			began = time.Now()
			drain()
			ended.Wait()
			last := ends[len(ends)-1]
			if last > c.within || last < c.within/2 { // the last of hundreds is near the end
				t.Errorf("%d watches with %v: got the last end after %v, want about %v", c.watches, c.grace, last, c.within)
			}
			early := 0
			for _, end := range ends {
				if end < c.within/2 {
					early++
				}
			}
			if c.within > 0 && (early < c.watches/4 || early > c.watches*3/4) {
				t.Errorf("got %d of %d watches that end in the first half", early, c.watches)
			}
			if open := p.open.Load(); open != 0 {
				t.Errorf("got %d open watches, want none", open)
			}
		})
	}
}

// A watch that ended earlier is not ended again.
func TestEndedWatchIsNotEndedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		draining, drain := context.WithCancel(t.Context())
		p := newWatchTermination(draining, time.Hour)
		for range 200 {
			stop := p.follow(func() { t.Error("got an end before the time of the watch") })
			defer stop()
		}
		before := p.follow(func() { t.Error("got an end of a watch that had ended before") })
		before()
		drain()
		synctest.Wait() // every watch waits for its time
	})
}
