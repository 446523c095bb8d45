package limit

import (
	"container/list"
	"sync"
	"time"
)

// StallBounds are the maximum numbers of stalled responses. Each must be above 0.
type StallBounds struct {
	One, All int   // per key, and over all keys
	Bytes    int64 // bytes of memory over all keys; a single stalled response may use more
}

// idleAfter is how long a client must have read nothing before its response may be ended in favor of another.
const idleAfter = time.Second

// searchPause is the minimum time from a failed search among all keys to the next such search. Refused responses try
// again all the time, and a search may look at every response.
const searchPause = 10 * time.Millisecond

// Stalled is a response that waits for its client to read. Its methods must not block.
type Stalled interface {
	// TakenAt returns the time at which the client last read something.
	TakenAt() time.Time
	// End aborts the response. It is called at most once.
	End()
}

// Stalls bounds the responses that wait for their clients to read. A response is idle when its client has read nothing
// for a second. When a key reaches its bound, a new response of the key ends the key's oldest idle response. When
// another bound is reached, the key with the most responses is chosen among the keys that have an idle response. A new
// response ends the oldest idle response of the chosen key, unless the new response's own key has more responses. Safe
// for concurrent use.
type Stalls struct {
	bounds StallBounds

	mu     sync.Mutex            // guards the fields below; held while TakenAt runs
	byKey  map[string]*list.List // lists of *stall, oldest first
	counts census[string]
	bytes  int64
	paused time.Time // end of searchPause
}

type stall struct {
	answer  Stalled
	key     string
	bytes   int64
	element *list.Element // nil after removal
	ending  bool          // whether enter has chosen the response to end
}

// NewStalls returns Stalls without a response.
func NewStalls(bounds StallBounds) *Stalls {
	return &Stalls{bounds: bounds, byKey: map[string]*list.List{}}
}

// Enter adds a response that uses the given bytes of memory, and ends idle responses to make room. If they cannot make
// enough room, Enter ends none of them and returns ErrBusy. The caller calls leave when the response ends; further
// calls have no effect.
func (s *Stalls) Enter(key string, bytes int64, answer Stalled) (leave func(), err error) {
	one := &stall{answer: answer, key: key, bytes: bytes}
	ended, err := s.enter(one)
	for _, other := range ended {
		other.answer.End()
	}
	if err != nil {
		return nil, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.element != nil {
			s.count(one, -1)
			s.unlink(one)
		}
	}, nil
}

func (s *Stalls) enter(one *stall) (ended []*stall, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended, enough := s.choose(one)
	if !enough {
		for _, other := range ended {
			s.count(other, 1)
		}
		return nil, ErrBusy
	}
	for _, other := range ended {
		s.unlink(other)
	}
	s.add(one)
	return ended, nil
}

// choose chooses the responses that must end before the given one enters, and subtracts them from the counts. enough
// is false if they do not make enough room.
func (s *Stalls) choose(one *stall) (ending []*stall, enough bool) {
	now := time.Now()
	end := func(key string) bool {
		oldest := oldestIdle(s.byKey[key], now)
		if oldest != nil {
			s.count(oldest, -1)
			ending = append(ending, oldest)
		}
		return oldest != nil
	}
	counts, paused := s.counts.counts, now.Before(s.paused)
	if counts[one.key] >= s.bounds.One && !end(one.key) {
		return ending, false
	}
	for key := range s.counts.descending(one.key) {
		switch {
		case !s.isFull(one):
			return ending, true
		case counts[key] < counts[one.key]: // the search was short, so it needs no pause
			return ending, false
		case !end(key) && paused:
			return ending, false
		}
	}
	if enough = !s.isFull(one); !enough && !paused {
		s.paused = now.Add(searchPause)
	}
	return ending, enough
}

// isFull reports whether the given response exceeds a bound over all keys.
func (s *Stalls) isFull(one *stall) bool {
	return s.counts.all >= s.bounds.All || s.counts.all > 0 && s.bytes+one.bytes > s.bounds.Bytes
}

func oldestIdle(stalled *list.List, now time.Time) *stall {
	for e := stalled.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*stall); !one.ending && now.Sub(one.answer.TakenAt()) >= idleAfter {
			return one
		}
	}
	return nil
}

func (s *Stalls) add(one *stall) {
	stalled := s.byKey[one.key]
	if stalled == nil {
		stalled = list.New()
		s.byKey[one.key] = stalled
	}
	one.element = stalled.PushBack(one)
	s.count(one, 1)
}

// count adds a response to the counts (1), or subtracts it (-1) because it is ending.
func (s *Stalls) count(one *stall, sign int) {
	one.ending = sign < 0
	s.bytes += int64(sign) * one.bytes
	s.counts.note(one.key, s.counts.counts[one.key]+sign)
}

func (s *Stalls) unlink(one *stall) {
	stalled := s.byKey[one.key]
	stalled.Remove(one.element)
	one.element = nil
	if stalled.Len() == 0 {
		delete(s.byKey, one.key)
	}
}

// Load returns the number of stalled responses. Waiting is always 0.
func (s *Stalls) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{Taken: int64(s.counts.all), All: int64(s.bounds.All)}
}
