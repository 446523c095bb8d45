package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// take takes seats and waits for them at most for the given time.
func take(t *testing.T, p *Seats, key string, seats int64, wait time.Duration) (func(), error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	return p.Take(ctx, Alone(key), seats)
}

func TestSeatsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 4, Group: 4, All: 6, Queue: 1000})
		var mu sync.Mutex // guards all and most
		var all, most int64
		var each [3]atomic.Int64
		var wait sync.WaitGroup
		for i := range 300 {
			wait.Go(func() {
				key, seats := i%3, int64(1+i%4)
				leave, err := take(t, p, string(rune('a'+key)), seats, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if n := each[key].Add(seats); n > 4 {
					t.Errorf("got %d seats of one key, want 4 at most", n)
				}
				mu.Lock()
				all += seats
				most = max(most, all)
				mu.Unlock()
				<-time.After(time.Second)
				each[key].Add(-seats)
				mu.Lock()
				all -= seats
				mu.Unlock()
				leave()
				leave() // has no effect
			})
		}
		wait.Wait()
		if most != 6 {
			t.Errorf("got %d seats in use at a time, want 6", most)
		}
		if len(p.groups) != 0 {
			t.Errorf("got %d groups, want none", len(p.groups))
		}
	})
}

func TestSeatsBoundWaitAndQueue(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 2, Group: 2, All: 3, Queue: 1})
		leave, err := take(t, p, "a", 100, time.Second) // more than there are
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := take(t, p, "a", 1, time.Second); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("got %v after %s, want ErrBusy after 1s", err, time.Since(began))
		}
		other, err := take(t, p, "b", 1, time.Second)
		if err != nil || time.Since(began) != time.Second {
			t.Errorf("got %v for another key, want a seat", err)
		}
		go func() {
			<-time.After(time.Second)
			leave()
		}()
		var wait sync.WaitGroup
		wait.Go(func() {
			if leave, err := take(t, p, "a", 2, time.Hour); err != nil {
				t.Error(err)
			} else {
				leave()
			}
		})
		synctest.Wait()
		if _, err := take(t, p, "a", 1, time.Hour); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("behind a full queue: got %v after %s, want ErrBusy immediately", err, time.Since(began))
		}
		wait.Wait()
		other()
		if len(p.groups) != 0 {
			t.Errorf("got %d groups, want none", len(p.groups))
		}
	})
}

// A flood of one key delays a request of another key by one turn only, however many requests of the flood wait.
func TestKeysTakeTurns(t *testing.T) {
	for _, floods := range []int{1, 3} {
		bubble.Test(t, func(t *testing.T) {
			p := NewSeats(Bounds{One: 4, Group: 4, All: 4, Queue: 2000})
			var wait sync.WaitGroup
			var given [3]atomic.Int64 // seats by flood
			for i := range 1000 * floods {
				wait.Go(func() {
					leave, err := take(t, p, string(rune('a'+i%floods)), 1, time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					given[i%floods].Add(1)
					<-time.After(time.Duration(1+i%4)*time.Second + time.Duration(i)*7*time.Microsecond) // all end at different times
					leave()
				})
			}
			for range 20 {
				<-time.After(5*time.Second + time.Second/2)
				synctest.Wait() // all requests with a seat have counted it
				var before [3]int64
				for i := range given {
					before[i] = given[i].Load()
				}
				leave, err := take(t, p, "z", 1, time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				for i := range given {
					if n := given[i].Load() - before[i]; n > 1 {
						t.Errorf("%d floods: got a seat after %d turns of one flood, want 1 at most", floods, n)
					}
				}
				leave()
			}
			wait.Wait()
			if len(p.groups) != 0 {
				t.Errorf("got %d groups, want none", len(p.groups))
			}
		})
	}
}

// Requests for few seats do not starve a request for many.
func TestLargeRequestsGetTheirTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 8, Group: 8, All: 8, Queue: 2000})
		var wait sync.WaitGroup
		for i := range 400 {
			wait.Go(func() {
				<-time.After(time.Duration(i) * 100 * time.Millisecond)
				if leave, err := take(t, p, string(rune('a'+i%4)), 1, time.Hour); err == nil {
					<-time.After(time.Second)
					leave()
				}
			})
		}
		<-time.After(5 * time.Second)
		began := time.Now()
		leave, err := take(t, p, "large", 8, time.Hour)
		if took := time.Since(began); err != nil || took > 3*time.Second {
			t.Errorf("got %v after %s, want the seats within 3s", err, took)
		} else {
			leave()
		}
		wait.Wait()
	})
}

// The queue is bounded over all keys. A request that leaves the queue frees its turn for the request behind it.
func TestQueueIsBoundedInTotal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 3, Group: 3, All: 4, Queue: 10, QueueAll: 2})
		a, _ := take(t, p, "a", 3, time.Hour)
		b, _ := take(t, p, "b", 1, time.Hour)
		ctx, leaves := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := p.Take(ctx, Alone("c"), 3); !errors.Is(err, ErrBusy) {
				t.Errorf("a request that left: got %v, want ErrBusy", err)
			}
		})
		synctest.Wait()
		var given atomic.Bool
		wait.Go(func() {
			leave, err := take(t, p, "d", 1, time.Hour)
			if err != nil {
				t.Error(err)
				return
			}
			given.Store(true)
			leave()
		})
		synctest.Wait()
		if _, err := take(t, p, "e", 1, time.Hour); !errors.Is(err, ErrBusy) {
			t.Errorf("behind a full queue: got %v, want ErrBusy", err)
		}
		b()
		synctest.Wait()
		if given.Load() {
			t.Error("got a seat out of turn")
		}
		leaves()
		synctest.Wait()
		if !given.Load() {
			t.Error("got no seat after the request with the turn had left")
		}
		a()
		wait.Wait()
		if len(p.groups) != 0 || p.free != 4 || p.waiting.all != 0 || !p.idle() {
			t.Errorf("got %d groups, %d free seats and %d waiting requests, want 0, 4 and 0", len(p.groups), p.free, p.waiting.all)
		}
	})
}

// All keys of a group share the turns of one group, and never have more seats than the group may have.
func TestGroupsTakeTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 2, Group: 3, All: 4, Queue: 10, QueueAll: 10_000})
		var wait sync.WaitGroup
		var taken, most atomic.Int64
		for i := range 1000 {
			wait.Go(func() {
				leave, err := p.Take(t.Context(), Key{Group: "many", One: strconv.Itoa(i)}, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if n := taken.Add(1); n > most.Load() {
					most.Store(n)
				}
				<-time.After(time.Second)
				taken.Add(-1)
				leave()
			})
		}
		synctest.Wait()
		for range 3 { // the fourth seat is free, then the group's next
			began := time.Now()
			leave, err := take(t, p, "single", 2, time.Hour)
			if err != nil || time.Since(began) > time.Second {
				t.Errorf("got %v after %s, want seats within 1s", err, time.Since(began))
				continue
			}
			leave()
		}
		wait.Wait()
		if most.Load() != 3 || len(p.groups) != 0 || p.free != 4 || !p.idle() {
			t.Errorf("got %d seats in use at a time, %d groups and %d free seats, want 3, 0 and 4", most.Load(), len(p.groups), p.free)
		}
	})
}

// When too many requests wait, the last request of the longest queue is refused, not the newcomer.
func TestLongestQueueLosesItsLastRequest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := NewSeats(Bounds{One: 1, Group: 1, All: 1, Queue: 100, QueueAll: 12})
		first, err := take(t, p, "first", 1, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		refused := make(chan string, 100)
		var wait sync.WaitGroup
		enter := func(key Key, name string) {
			wait.Go(func() {
				leave, err := p.Take(t.Context(), key, 1)
				if err != nil {
					refused <- name
					return
				}
				leave()
			})
			synctest.Wait()
		}
		for i := range 4 {
			enter(Alone("patient"), fmt.Sprint("patient ", i))
		}
		for i := range 8 { // two queues of three and one of two
			enter(Key{Group: "many", One: strconv.Itoa(i % 3)}, fmt.Sprint("many ", i))
		}
		enter(Alone("newcomer"), "newcomer")
		enter(Alone("patient"), "patient 4")
		enter(Key{Group: "many", One: "another"}, "many 8")
		close(refused)
		var names []string
		for name := range refused {
			names = append(names, name)
		}
		// The first is the last of a queue of three. The later ones are of the group that has the most waiting requests.
		if len(names) != 3 || !slices.Contains([]string{"many 6", "many 7"}, names[0]) || !strings.HasPrefix(names[1], "many ") || !strings.HasPrefix(names[2], "many ") {
			t.Errorf("refused: %q", names)
		}
		first()
		wait.Wait()
		if len(p.groups) != 0 || p.waiting.all != 0 || len(p.waiting.counts) != 0 || len(p.waiting.byCount) != 0 {
			t.Errorf("got %d groups and %d waiting requests, want none", len(p.groups), p.waiting.all)
		}
	})
}
