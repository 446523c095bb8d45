package handlers

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatchesPartOneByOne: they end over the grace period, or as fast as kube-apiserver ends few of them.
func TestWatchesPartOneByOne(t *testing.T) {
	// With -race a bubble in which many goroutines ask timers that are due at once crashes (golang/go#78156): watches that
	// need not wait for their turns have none.
	for _, c := range []struct {
		watches int
		grace   time.Duration
		within  time.Duration
	}{
		{watches: 1000, grace: 0, within: 0},
		{watches: 1000, grace: 2 * time.Second, within: 2 * time.Second},
		{watches: 100, grace: time.Minute, within: time.Second / 2},
	} {
		synctest.Test(t, func(t *testing.T) {
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
				t.Fatalf("%d have ended before the server shuts down", len(ends))
			}
			began = time.Now()
			drain()
			ended.Wait()
			last := ends[len(ends)-1]
			if last > c.within || last < c.within/2 { // by chance, of hundreds, it is nearly the end
				t.Errorf("%d watches with %v have ended after %v, want about %v", c.watches, c.grace, last, c.within)
			}
			early := 0
			for _, end := range ends {
				if end < c.within/2 {
					early++
				}
			}
			if c.within > 0 && (early < c.watches/4 || early > c.watches*3/4) {
				t.Errorf("%d of %d watches end in the first half", early, c.watches)
			}
			if open := p.open.Load(); open != 0 {
				t.Errorf("%d are open", open)
			}
		})
	}
}

// TestOverBeforeItsTurn: a watch that ended by itself is not ended again.
func TestOverBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draining, drain := context.WithCancel(t.Context())
		p := newWatchTermination(draining, time.Hour)
		for range 200 {
			stop := p.follow(func() { t.Error("it is ended") })
			defer stop()
		}
		before := p.follow(func() { t.Error("one that was over before is ended") })
		before()
		drain()
		synctest.Wait() // every watch waits for its turn
	})
}
