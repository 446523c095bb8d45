package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

// documentSeats bounds the documents that are asked for at a time. A client that reads every group version asks for
// dozens at once, and one caller can be all clients (--anonymous-acts-as-kubeconfig); documents that are never answered
// still leave places to others, and those of a namespace to other namespaces.
var documentSeats = limit.Bounds{One: 16, Group: 24, All: 32, Queue: 512, QueueAll: 2048}

// documentQueue is how long a document may wait until there is a place to ask for it.
const documentQueue = 10 * time.Second

// TooManyDocumentsError says that a document was not asked for, because too many others are.
type TooManyDocumentsError struct {
	After time.Duration // when to come back; 0 when that is not known
}

func (e *TooManyDocumentsError) Error() string { return "too many documents are asked for at once" }

// flights are the documents that are asked for: at most so many at a time, of one caller and of all, and each once. A
// flight that has begun goes on when nobody waits for it any more, for the next who asks; one that waits for its place
// does not. Safe for concurrent use.
type flights struct {
	seats *limit.Seats

	mu    sync.Mutex // guards all below, and what the flights say of themselves
	byKey map[string]*flight
}

// flight is one document that is asked for. Each of its callers has a place in its own queue, and it begins with the
// first that has its turn: a caller that asks for much holds up no other that asks for some of the same.
type flight struct {
	over     chan struct{} // closed when document and err are set
	document *Document
	err      error

	callers int // who wait
	begun   bool
	queues  map[limit.Key]struct{} // where it has been put
	queued  int                    // queues that it still waits in
	waiting context.Context        // of the wait for a place
	giveUp  context.CancelFunc
}

type asking func(context.Context) (*Document, error)

func newFlights(places limit.Bounds) *flights {
	return &flights{seats: limit.NewSeats(places), byKey: map[string]*flight{}}
}

// join waits for the document of a key, and asks for it if nobody does yet. The caller leaves the flight in the end.
func (s *flights) join(ctx context.Context, key string, caller limit.Key, ask asking) (f *flight, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	detached := context.WithoutCancel(ctx)
	f, ok := s.byKey[key]
	if !ok {
		f = &flight{over: make(chan struct{}), queues: map[limit.Key]struct{}{}}
		f.waiting, f.giveUp = context.WithCancel(detached)
		s.byKey[key] = f
	}
	if _, in := f.queues[caller]; !in && !f.begun {
		f.queues[caller] = struct{}{}
		f.queued++
		go s.queue(detached, key, f, caller, ask)
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

// queue waits for a place of one caller, and asks if that is the first of the flight's.
func (s *flights) queue(ctx context.Context, key string, f *flight, caller limit.Key, ask asking) {
	waiting, cancel := context.WithTimeout(f.waiting, documentQueue)
	leave, err := s.seats.Take(waiting, caller, 1)
	cancel()
	if err != nil {
		leave = func() {}
	}
	defer leave()
	if !s.begin(key, f, err == nil) {
		return
	}
	ctx, cancel = context.WithTimeout(ctx, documentWait)
	defer cancel()
	document, err := ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.document, f.err = document, err
	s.land(key, f)
}

// begin tells whether a flight begins with a place. Without one, it is over when it waits in no other queue.
func (s *flights) begin(key string, f *flight, placed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.queued--
	switch {
	case f.begun:
		return false
	case placed && f.callers > 0:
		f.begun = true
		f.giveUp()
		return true
	case f.queued == 0:
		f.err = &TooManyDocumentsError{}
		s.land(key, f)
	}
	return false
}

// land ends a flight.
func (s *flights) land(key string, f *flight) {
	f.giveUp()
	s.forget(key, f)
	close(f.over)
}

// forget makes the next who asks for a key begin a flight.
func (s *flights) forget(key string, f *flight) {
	if s.byKey[key] == f {
		delete(s.byKey, key)
	}
}
