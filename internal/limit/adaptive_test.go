package limit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// server is a simulated server with a number of workers.
type server struct {
	count   int
	workers chan struct{} // made by the first work, in the bubble of the test

	mu       sync.Mutex    // guards the fields below
	each     time.Duration // time of a worker for one piece of work
	refuses  int           // work in flight above which the server refuses more; 0 means never
	inFlight int
	done     int
	refused  int
}

func newServer(workers int, each time.Duration, refuses int) *server {
	return &server{count: workers, each: each, refuses: refuses}
}

// serve does one piece of work.
func (s *server) serve() Result {
	s.mu.Lock()
	if s.refuses > 0 && s.inFlight >= s.refuses {
		s.refused++
		s.mu.Unlock()
		return Overloaded
	}
	s.inFlight++
	if s.workers == nil {
		s.workers = make(chan struct{}, s.count)
	}
	each, workers := s.each, s.workers
	s.mu.Unlock()
	workers <- struct{}{}
	<-time.After(each)
	<-workers
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.done++
	return Answered
}

// during returns how much work the server did and refused in a time.
func (s *server) during(d time.Duration) (done, refused int) {
	s.mu.Lock()
	done, refused = s.done, s.refused
	s.mu.Unlock()
	<-time.After(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done - done, s.refused - refused
}

// work does one piece of work of a key.
func work(ctx context.Context, a *Adaptive, s *server, key Key) error {
	seat, err := a.Take(ctx, key, InTurns)
	if err != nil {
		return err
	}
	began := time.Now()
	result := s.serve()
	seat.Report("work", result, time.Since(began))
	if result == Overloaded {
		seat.Leave(time.Second)
	}
	seat.Leave(0)
	return nil
}

// loaded runs a test while a hundred clients send work to a server all the time.
func loaded(t *testing.T, s *server, test func(*testing.T, *Adaptive)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		a := NewAdaptive(AdaptiveBounds{Queue: 10, QueueAll: 1000})
		ctx, stop := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for i := range 100 {
			clients.Go(func() {
				for ctx.Err() == nil {
					_ = work(ctx, a, s, Alone(fmt.Sprint(i)))
				}
			})
		}
		test(t, a)
		stop()
		clients.Wait()
		<-time.After(2 * time.Second) // seats of refused work
		if load := a.Load(); load.Taken != 0 || load.Waiting != 0 || len(a.seats.groups) != 0 || a.inUse != 0 {
			t.Errorf("got %+v, %d groups and %d seats in use, want none", load, len(a.seats.groups), a.inUse)
		}
	})
}

// within reports seats outside of a range, for a second.
func within(t *testing.T, a *Adaptive, least, most int64) {
	t.Helper()
	for range 100 {
		<-time.After(10 * time.Millisecond)
		if n := a.Load().All; n < least || n > most {
			t.Errorf("got %d seats, want %d to %d", n, least, most)
			return
		}
	}
}

func TestFastServerGetsAllSeats(t *testing.T) {
	s := newServer(8, time.Millisecond, 0)
	loaded(t, s, func(t *testing.T, a *Adaptive) {
		<-time.After(500 * time.Millisecond)
		within(t, a, maxWindow, maxWindow)
		if done, _ := s.during(500 * time.Millisecond); done < 3900 {
			t.Errorf("got %d pieces of work in half a second, want 4000", done)
		}
	})
}

// A slow server is kept busy, but its queue remains short.
func TestSlowServerGetsFewSeats(t *testing.T) {
	s := newServer(4, 20*time.Millisecond, 0)
	loaded(t, s, func(t *testing.T, a *Adaptive) {
		<-time.After(2 * time.Second)
		within(t, a, minWindow, 12)
		if done, _ := s.during(10 * time.Second); done < 1900 {
			t.Errorf("got %d pieces of work in ten seconds, want 2000", done)
		}
	})
}

// A server that becomes slow gets few seats at once. When it stays slow, its new speed counts.
func TestSeatsFollowTheServer(t *testing.T) {
	const usual = 20 * time.Millisecond
	s := newServer(64, usual, 0)
	loaded(t, s, func(t *testing.T, a *Adaptive) {
		set := func(each time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.each = each
		}
		<-time.After(2 * time.Second)
		within(t, a, maxWindow, maxWindow)
		set(20 * usual)
		<-time.After(5 * time.Second) // two round trips for each reduction
		within(t, a, minWindow, minWindow)
		<-time.After(3 * fastestFor)
		within(t, a, maxWindow, maxWindow)
		set(usual)
		<-time.After(2 * time.Second)
		within(t, a, maxWindow, maxWindow)
	})
}

func TestServerThatRefusesGetsFewerSeats(t *testing.T) {
	s := newServer(64, 5*time.Millisecond, 20)
	loaded(t, s, func(t *testing.T, a *Adaptive) {
		<-time.After(2 * time.Second)
		within(t, a, minWindow, 30) // a refused piece of work keeps its seat, but is not in flight
		done, refused := s.during(4 * time.Second)
		if done < 4000 || refused == 0 || refused > done/50 {
			t.Errorf("got %d pieces of work and %d refusals in four seconds, want at least 4000 and at most 2 %%", done, refused)
		}
	})
}

// A server that refuses everything receives little work.
func TestServerThatRefusesAllIsSpared(t *testing.T) {
	s := newServer(1, time.Millisecond, 1)
	s.inFlight = 1
	loaded(t, s, func(t *testing.T, _ *Adaptive) {
		if _, refused := s.during(10 * time.Second); refused > 11*minWindow {
			t.Errorf("got %d refusals in ten seconds, want %d a second", refused, minWindow)
		}
	})
}

// Work in the queue of one caller does not delay the work of another, however many callers there are.
func TestCallersTakeTurnsForAdaptiveSeats(t *testing.T) {
	for _, callers := range []int{1, 8, 64} {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, s := NewAdaptive(AdaptiveBounds{Queue: 1000, QueueAll: 100_000}), newServer(64, 10*time.Millisecond, 0)
				ctx, stop := context.WithCancel(t.Context())
				var flood sync.WaitGroup
				for i := range callers * 100 {
					flood.Go(func() {
						for ctx.Err() == nil {
							_ = work(ctx, a, s, Alone(fmt.Sprint(i%callers)))
						}
					})
				}
				<-time.After(time.Second)
				for range 10 {
					began := time.Now()
					if err := work(t.Context(), a, s, Alone("another")); err != nil || time.Since(began) > 30*time.Millisecond {
						t.Errorf("got %v after %s, want an answer within 30ms", err, time.Since(began))
					}
				}
				stop()
				flood.Wait()
			})
		})
	}
}

// A few slow pieces of work, such as those of one caller, do not take seats from others.
func TestSlowWorkOfOneCallerDoesNotReduceSeats(t *testing.T) {
	s := newServer(64, 20*time.Millisecond, 0)
	loaded(t, s, func(t *testing.T, a *Adaptive) {
		slow, hangs := t.Context(), newServer(100, time.Second, 0)
		var caller sync.WaitGroup
		for range 8 {
			caller.Go(func() {
				for range 8 {
					if err := work(slow, a, hangs, Alone("slow")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		<-time.After(2 * time.Second)
		within(t, a, maxWindow, maxWindow)
		caller.Wait()
	})
}

// Work that began before a reduction of seats causes no further one.
func TestSeatsAreReducedOncePerRoundTrip(t *testing.T) {
	w := newWindow()
	w.seats = maxWindow
	for i := range maxWindow {
		w.take(i + 1)
	}
	for number := range uint64(maxWindow) {
		w.overloaded(number + 1)
	}
	if w.seats != maxWindow/2 {
		t.Errorf("got %d seats, want half", w.seats)
	}
	if w.overloaded(w.take(1)); w.seats != maxWindow/4 {
		t.Errorf("after later work: got %d seats, want a quarter", w.seats)
	}
}

// rankOf takes a seat of a rank and returns it after a second. It calls given when it has the seat.
func rankOf(t *testing.T, a *Adaptive, key Key, rank Rank, given func()) {
	t.Helper()
	seat, err := a.Take(t.Context(), key, rank)
	if err != nil {
		t.Error(err)
		return
	}
	given()
	<-time.After(time.Second)
	seat.Leave(0)
}

// Work of rank First has precedence, but not more than half of the seats. Work of rank Last gets one of lastTurn seats.
func TestRanksOfWork(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := NewAdaptive(AdaptiveBounds{Queue: 1000, QueueAll: 10_000})
		var (
			mu    sync.Mutex // guards given
			given []Rank
			all   sync.WaitGroup
		)
		enter := func(rank Rank, n int) {
			for i := range n {
				all.Go(func() {
					rankOf(t, a, Alone(fmt.Sprint(rank, i%2)), rank, func() {
						mu.Lock()
						defer mu.Unlock()
						given = append(given, rank)
					})
				})
			}
			synctest.Wait()
		}
		enter(InTurns, 100) // of two callers, who have all seats
		enter(Last, 20)
		enter(First, 20)
		since := func() (count [ranks]int) {
			mu.Lock()
			defer mu.Unlock()
			for _, rank := range given {
				count[rank]++
			}
			return count
		}
		if now := since(); now != [ranks]int{0, 4, 0} {
			t.Errorf("got %v seats at once, want all for work in turns", now)
		}
		<-time.After(10*time.Second + time.Millisecond)
		synctest.Wait()
		if now := since(); now[First] < 18 || now[Last] < 2 || now[Last] > 4 {
			t.Errorf("got %v seats in ten seconds, want 18 or more, the others, and 2 to 4", now)
		}
		all.Wait()
	})
}
