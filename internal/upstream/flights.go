package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

// documentSeats bounds the documents that are requested at a time. A client that reads every group version requests
// dozens of documents at the same time. With --anonymous-acts-as-kubeconfig, all clients are one caller. The limits per
// caller and per namespace leave seats for others while the documents of one caller hang.
var documentSeats = limit.Bounds{One: 16, Group: 24, All: 32, Queue: 512, QueueAll: 2048}

const documentQueue = 10 * time.Second

// TooManyDocumentsError is returned for a request that exceeds the limits on requests for documents.
type TooManyDocumentsError struct {
	After time.Duration // time until a retry; 0 when unknown
}

func (e *TooManyDocumentsError) Error() string {
	return "too many requests for documents"
}

// flights are the requests for documents in progress. Callers of the same document share one flight. If all callers
// leave a flight that waits for a seat, the flight ends. A flight whose request was sent continues for later callers.
// Safe for concurrent use.
type flights struct {
	seats *limit.Seats

	mu    sync.Mutex // guards the fields below, and those of each flight
	byKey map[string]*flight
}

// flight is the shared request for one document. It waits in the queue of each of its callers, and the request is sent
// with the first seat. A caller with many requests therefore does not delay another caller of the same document.
type flight struct {
	done     chan struct{} // closed when document and err are set
	document *Document
	err      error

	callers int // callers that wait for the document
	begun   bool
	queues  map[limit.Key]struct{} // queues to which the flight was added
	queued  int                    // number of queues in which the flight still waits
	waiting context.Context        // ends when the wait for a seat ends
	giveUp  context.CancelFunc
}

type asking func(context.Context) (*Document, error)

func newFlights(bounds limit.Bounds) *flights {
	return &flights{seats: limit.NewSeats(bounds), byKey: map[string]*flight{}}
}

// join returns the flight of the document with a key, and starts one if there is none. The caller must call leave when
// it no longer waits.
func (s *flights) join(ctx context.Context, key string, caller limit.Key, ask asking) (f *flight, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	detached := context.WithoutCancel(ctx)
	f, ok := s.byKey[key]
	if !ok {
		f = &flight{done: make(chan struct{}), queues: map[limit.Key]struct{}{}}
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

func (s *flights) leave(key string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.callers--; f.callers == 0 && !f.begun {
		f.giveUp()
		s.forget(key, f)
	}
}

// queue waits for a seat of one caller. If this is the first seat of the flight, queue sends the request.
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
	s.finish(key, f)
}

// begin ends the wait in one queue. It returns true if the method queue must send the flight's request. seated reports
// whether this queue gave a seat. If no queue gave a seat, the flight fails.
func (s *flights) begin(key string, f *flight, seated bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.queued--
	switch {
	case f.begun:
		return false
	case seated && f.callers > 0:
		f.begun = true
		f.giveUp()
		return true
	case f.queued == 0:
		f.err = &TooManyDocumentsError{}
		s.finish(key, f)
	}
	return false
}

func (s *flights) finish(key string, f *flight) {
	f.giveUp()
	s.forget(key, f)
	close(f.done)
}

func (s *flights) forget(key string, f *flight) {
	if s.byKey[key] == f {
		delete(s.byKey, key)
	}
}
