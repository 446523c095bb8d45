package limit

import (
	"context"
	"sync"
	"time"
)

// AdaptiveBounds are the bounds of the queues of Adaptive: waiting requests per key, and in total.
type AdaptiveBounds struct{ Queue, QueueAll int }

// Adaptive bounds concurrent work at a server whose capacity is unknown and changes. There are 4 to 64 seats, 4 at
// first. A round ends after as many answers as there are seats. A seat is then added if at least half of the seats were
// in use and most answers were fast. An answer is fast if it takes at most about twice as long as the fastest answer.
// The seats are halved if most answers were slow, and after a refusal or a timeout.
//
// Work of rank InTurns is queued as in Seats. Safe for concurrent use.
type Adaptive struct {
	seats *Seats

	mu     sync.Mutex // guards window and inUse
	window window
	inUse  int
}

// NewAdaptive returns an Adaptive without work.
func NewAdaptive(bounds AdaptiveBounds) *Adaptive {
	a := &Adaptive{window: newWindow()}
	all := int64(a.window.seats)
	a.seats = NewSeats(Bounds{One: halfOf(all), Group: halfOf(all), All: all, Queue: bounds.Queue,
		QueueAll: bounds.QueueAll})
	return a
}

// Seat is the permission for one piece of work at a time, such as a request and its retries.
type Seat struct {
	of     *Adaptive
	waiter *waiter
	number uint64 // number of the seat among all seats given away, from 1
	once   sync.Once
}

// Take waits for a seat until the context ends. It returns ErrBusy if the queue is full or the context ended. The
// caller must call Leave.
func (a *Adaptive) Take(ctx context.Context, key Key, rank Rank) (*Seat, error) {
	w := a.seats.take(ctx, key, rank, 1)
	if !w.granted {
		return nil, ErrBusy
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inUse++
	return &Seat{of: a, waiter: w, number: a.window.take(a.inUse)}, nil
}

// Result is the result of work at the server.
type Result int

// Values of Result.
const (
	Answered   Result = iota // the server did the work
	Overloaded               // the server refused the work because of its load, or did not finish it in time
	Failed                   // the result says nothing about the server's load, such as a refused connection
)

// Report adapts the number of seats to the result of work and its duration. Work of one kind must normally take about
// the same time. There must be few kinds, because each kind uses memory.
func (s *Seat) Report(kind string, result Result, took time.Duration) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	window := &s.of.window
	before := window.seats
	switch result {
	case Answered:
		window.answered(s.number, kind, took, time.Now())
	case Overloaded:
		window.overloaded(s.number)
	case Failed:
	}
	if window.seats != before {
		s.of.seats.resize(int64(window.seats)) // under the lock, so that the last change counts
	}
}

// Leave returns the seat after the given time, such as the Retry-After of a refusal. Further calls have no effect.
func (s *Seat) Leave(after time.Duration) {
	s.once.Do(func() {
		if after > 0 {
			time.AfterFunc(after, s.leave)
			return
		}
		s.leave()
	})
}

func (s *Seat) leave() {
	s.of.mu.Lock()
	s.of.inUse--
	s.of.mu.Unlock()
	s.of.seats.release(s.waiter)
}

// Load returns the seats in use, the current number of seats, and the requests that wait.
func (a *Adaptive) Load() Load { return a.seats.Load() }
