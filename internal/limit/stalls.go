package limit

import (
	"container/list"
	"sync"
	"time"
)

// StallBounds are how many answers may wait for their clients at a time. All of them are above 0.
type StallBounds struct {
	One, All int   // of one key, and of everybody
	Bytes    int64 // of memory, of everybody
}

// stillAfter is for how long a client has taken nothing of an answer that can end for another's sake.
const stillAfter = time.Second

// Stalled is an answer that its client does not take. Its methods return at once.
type Stalled interface {
	// TakenAt is when its client took something the last time.
	TakenAt() time.Time
	// End breaks it off. It is called once, if at all.
	End()
}

// Stalls are the answers that their clients do not take. Where there are too many, one that enters ends the oldest
// whose client takes nothing at all, of the key that has most of them: such a one has no right to stay. Safe for
// concurrent use.
type Stalls struct {
	bounds StallBounds

	mu     sync.Mutex            // guards what follows; held for operations on lists only
	lines  map[string]*list.List // of *stall, by key, the oldest first
	counts census[string]
	bytes  int64
}

type stall struct {
	answer Stalled
	key    string
	bytes  int64
	at     *list.Element // nil when it has left
}

// NewStalls returns those of nobody.
func NewStalls(bounds StallBounds) *Stalls {
	return &Stalls{bounds: bounds, lines: map[string]*list.List{}}
}

// Enter lets an answer in that takes memory. It fails with ErrBusy when there are too many and none of them has to end.
// leave is for when the answer is over, and may be called again.
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
		s.remove(one)
	}, nil
}

func (s *Stalls) enter(one *stall) (ended []*stall, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for from, full := s.full(one); full; from, full = s.full(one) {
		oldest := still(s.lines[from])
		if oldest == nil {
			return ended, ErrBusy
		}
		s.remove(oldest)
		ended = append(ended, oldest)
	}
	s.add(one)
	return ended, nil
}

// full tells whether one has to end before another enters, and of which key.
func (s *Stalls) full(one *stall) (from string, full bool) {
	line := s.lines[one.key]
	switch {
	case line != nil && line.Len() >= s.bounds.One:
		return one.key, true
	case s.counts.all >= s.bounds.All || s.counts.all > 0 && s.bytes+one.bytes > s.bounds.Bytes:
		return s.counts.most(one.key), true
	}
	return "", false
}

// still is the oldest whose client takes nothing; nil when all of them take something.
func still(line *list.List) *stall {
	for e := line.Front(); e != nil; e = e.Next() {
		if one := e.Value.(*stall); time.Since(one.answer.TakenAt()) >= stillAfter {
			return one
		}
	}
	return nil
}

func (s *Stalls) add(one *stall) {
	line := s.lines[one.key]
	if line == nil {
		line = list.New()
		s.lines[one.key] = line
	}
	one.at = line.PushBack(one)
	s.bytes += one.bytes
	s.counts.note(one.key, line.Len())
}

// remove forgets one, and its key with the last.
func (s *Stalls) remove(one *stall) {
	if one.at == nil {
		return
	}
	line := s.lines[one.key]
	line.Remove(one.at)
	one.at = nil
	s.bytes -= one.bytes
	if s.counts.note(one.key, line.Len()); line.Len() == 0 {
		delete(s.lines, one.key)
	}
}

// Load says how many there are; nobody waits.
func (s *Stalls) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{Taken: int64(s.counts.all), All: int64(s.bounds.All)}
}
