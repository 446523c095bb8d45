package observe

import (
	"iter"
	"math/rand/v2"
	"sync"
)

// Inflight is the set of requests in flight. A nil Inflight is empty and cannot observe requests. Safe for concurrent
// use.
type Inflight struct {
	Ignore
	shards [inflightShards]inflightShard
}

// inflightShards is the number of shards. It is large enough that a call of All with 50,000 watches delays requests by
// microseconds only.
const inflightShards = 64

// inflightShard is a linked list. Adding and removing a request allocates no memory.
type inflightShard struct {
	mu    sync.Mutex
	first *Progress // guarded by mu, as are the links of all elements
	_     [40]byte  // padding that keeps neighbouring shards on different cache lines
}

type links struct {
	shard          uint8
	previous, next *Progress
}

// Began implements Observer.
func (i *Inflight) Began(e *Event) {
	p := e.Progress
	p.shard = uint8(rand.Uint32N(inflightShards)) //nolint:gosec // needs no secure randomness
	s := &i.shards[p.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.next = s.first; p.next != nil {
		p.next.previous = p
	}
	s.first = p
}

// Done implements Observer.
func (i *Inflight) Done(e *Event) {
	p := e.Progress
	s := &i.shards[p.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.previous == nil {
		s.first = p.next
	} else {
		p.previous.next = p.next
	}
	if p.next != nil {
		p.next.previous = p.previous
	}
	p.previous, p.next = nil, nil
}

// All yields the requests in flight, in no order. Some of these requests may have ended already. It copies one shard at
// a time, which takes less memory than a copy of all requests, and locks each shard only briefly.
func (i *Inflight) All() iter.Seq[*Progress] {
	return func(yield func(*Progress) bool) {
		if i == nil {
			return
		}
		var some []*Progress
		for s := range i.shards {
			some = i.shards[s].appendTo(some[:0])
			for _, p := range some {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func (s *inflightShard) appendTo(some []*Progress) []*Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := s.first; p != nil; p = p.next {
		some = append(some, p)
	}
	return some
}
