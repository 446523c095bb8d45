package observe

import (
	"math/rand/v2"
	"sync"
)

// Inflight is all requests under way. The zero Inflight has none; nil keeps none. Safe for concurrent use.
type Inflight struct {
	shards [inflightShards]inflightShard
}

// inflightShards are so many that who looks at fifty thousand watches holds requests up for microseconds.
const inflightShards = 64

// inflightShard is a list, so that to enter and to leave it costs no memory of its own.
type inflightShard struct {
	mu    sync.Mutex
	first *Progress // guarded by mu, as are the links of all in the list
	_     [40]byte  // shards that are next to each other share no cache line
}

// links are a request's place among those under way.
type links struct {
	shard          uint8
	previous, next *Progress
}

// Enter begins to show a request.
func (i *Inflight) Enter(p *Progress) {
	if i == nil {
		return
	}
	p.shard = uint8(rand.Uint32N(inflightShards)) //nolint:gosec // which is of no importance
	s := &i.shards[p.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.next = s.first; p.next != nil {
		p.next.previous = p
	}
	s.first = p
}

// Leave ends it.
func (i *Inflight) Leave(p *Progress) {
	if i == nil {
		return
	}
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

// All returns the requests that are under way, in no order. Some may be over when they are looked at.
func (i *Inflight) All() []*Progress {
	if i == nil {
		return nil
	}
	var all []*Progress
	for s := range i.shards {
		all = i.shards[s].appendTo(all)
	}
	return all
}

func (s *inflightShard) appendTo(all []*Progress) []*Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := s.first; p != nil; p = p.next {
		all = append(all, p)
	}
	return all
}
