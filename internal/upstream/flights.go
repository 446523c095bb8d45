package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// documentFlights bounds the documents that are asked for at a time. A client needs a handful to discover all.
	documentFlights = 32
	// documentQueue is how long a document may wait until there is a place to ask for it.
	documentQueue = 10 * time.Second
)

// ErrCrowded says that a document was not asked for, because too many others are.
var ErrCrowded = errors.New("too many documents are asked for at once")

// flights are the documents that are asked for: at most so many at a time, and each once. A flight that has begun goes
// on when nobody waits for it any more, for the next who asks; one that waits for its place does not. Safe for
// concurrent use.
type flights struct {
	places *semaphore.Weighted

	mu    sync.Mutex // guards all below, and what the flights say of themselves
	byKey map[string]*flight
}

// flight is one document that is asked for.
type flight struct {
	over     chan struct{} // closed when document and err are set
	document *Document
	err      error

	callers int // who wait
	begun   bool
	giveUp  context.CancelFunc // ends the wait for a place
}

func newFlights(places int64) *flights {
	return &flights{places: semaphore.NewWeighted(places), byKey: map[string]*flight{}}
}

// join waits for the document of a key, and asks for it if nobody does yet. The caller leaves the flight in the end.
func (s *flights) join(ctx context.Context, key string, ask func(context.Context) (*Document, error)) (f *flight, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.byKey[key]
	if !ok {
		detached := context.WithoutCancel(ctx)
		waiting, giveUp := context.WithTimeout(detached, documentQueue)
		f = &flight{over: make(chan struct{}), giveUp: giveUp}
		s.byKey[key] = f
		go s.fly(detached, waiting, key, f, ask)
	}
	f.callers++
	return f, func() { s.leave(key, f) }
}

// leave ends a caller's wait.
func (s *flights) leave(key string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.callers--; f.callers == 0 && !f.begun {
		f.giveUp()
		s.forget(key, f)
	}
}

// fly asks when there is a place.
func (s *flights) fly(ctx, waiting context.Context, key string, f *flight, ask func(context.Context) (*Document, error)) {
	defer f.giveUp()
	if f.err = s.begin(waiting, f); f.err == nil {
		defer s.places.Release(1)
		ctx, cancel := context.WithTimeout(ctx, documentWait)
		defer cancel()
		f.document, f.err = ask(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key, f)
	close(f.over)
}

// begin takes a place, unless everybody left before there was one.
func (s *flights) begin(waiting context.Context, f *flight) error {
	if s.places.Acquire(waiting, 1) != nil {
		return ErrCrowded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.begun = f.callers > 0; !f.begun {
		s.places.Release(1)
		return ErrCrowded
	}
	return nil
}

// forget makes the next who asks for a key begin a flight.
func (s *flights) forget(key string, f *flight) {
	if s.byKey[key] == f {
		delete(s.byKey, key)
	}
}
