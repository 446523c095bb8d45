package handlers

import (
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// heldByClient is for how long altogether a client may hold what its request has of its caller's share, by not taking
	// the answer.
	heldByClient = 100 * time.Millisecond
	// slowest is how many bytes a second a client takes that is not slow: who takes as many holds nothing. So a list that
	// takes seconds to write keeps its place while the facade works on it.
	slowest = 2 << 20
	// onePiece is how many bytes of a piece the client is given time for beforehand.
	onePiece = 128 << 10
	// unsent is how much of an answer net/http keeps until there is more; nobody waits for a client to take it.
	unsent = 4 << 10
	// stallMemory is about what a stalled answer takes: a goroutine, and what was to be written.
	stallMemory = 64 << 10
)

// seat is what a request has of its caller's share: its place among the requests, and of the bytes that are on their
// way. It covers the facade's work and not the client's reading: when the client has held up the answer for too long,
// all is given back, and the answer is one of the stalled ones, which have bounds of their own (ADR 28).
//
// It is used by the request's goroutine, but for what the timer does, and another request that has it End.
type seat struct {
	stalls  *limit.Stalls
	key     string
	control *http.ResponseController

	counts bool  // something is held
	sent   int64 // bytes of the answer

	mu     sync.Mutex    // guards what follows; held while a deadline is set, which must not happen when the reply is over
	memory int64         // bytes that the answer takes
	held   []func()      // give back what was taken; each may be called again
	left   time.Duration // for which the client may still hold it
	since  time.Time     // the client is given a piece; zero when it is not
	timer  *time.Timer   // nil before the first piece that is waited for
	taken  time.Time     // when the client took a piece the last time
	leave  func()        // of the stalled ones; nil when it is none of them
	ended  bool          // another had it end
	over   bool
}

// hold notes what the request has taken, and whose it is. leave may be called again.
func (s *seat) hold(stalls *limit.Stalls, key string, leave func()) {
	s.counts = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalls, s.key = stalls, key
	if s.held = append(s.held, leave); len(s.held) == 1 {
		s.left, s.memory = heldByClient, stallMemory
	}
}

// grows notes that the answer takes more memory.
func (s *seat) grows(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory += bytes
}

// writes begins a piece of so many bytes.
func (s *seat) writes(now time.Time, bytes int) error {
	if !s.counts {
		return nil
	}
	if s.sent += int64(bytes); s.sent <= unsent {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = now
	switch {
	case s.ended:
		return errStalled
	case len(s.held) == 0: // given back already
		return nil
	}
	wait := s.left + worth(min(bytes, onePiece))
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.look)
	} else {
		s.timer.Reset(wait)
	}
	return nil
}

// worth is how long the slowest client that is not slow takes for so many bytes.
func worth(bytes int) time.Duration { return time.Duration(bytes) * time.Second / slowest }

// wrote ends a piece.
func (s *seat) wrote(bytes int) {
	if !s.counts || s.sent <= unsent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return
	}
	now := time.Now()
	s.left = min(s.left+worth(bytes)-now.Sub(s.since), heldByClient)
	s.since, s.taken = time.Time{}, now
	if s.timer != nil {
		s.timer.Stop()
	}
}

// look is what the timer does: the client has held all this for too long. Where there are too many stalled answers and
// all of them go on, it is held until there are fewer: then it is the network that is slow, and more work would not
// help.
func (s *seat) look() {
	key, memory, stalls := s.stalling()
	if !stalls {
		return
	}
	leave, err := s.stalls.Enter(key, memory, s)
	s.mu.Lock()
	if err != nil {
		if !s.over {
			s.timer.Reset(heldByClient)
		}
		s.mu.Unlock()
		return
	}
	if s.over {
		s.mu.Unlock()
		leave()
		return
	}
	held := s.held
	s.leave, s.held = leave, nil
	s.mu.Unlock()
	for _, give := range held {
		give()
	}
}

func (s *seat) stalling() (key string, memory int64, stalls bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.IsZero() {
		s.taken = s.since
	}
	return s.key, s.memory, !s.over && !s.since.IsZero() && len(s.held) > 0
}

// TakenAt implements limit.Stalled.
func (s *seat) TakenAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// End implements limit.Stalled: the answer breaks off.
func (s *seat) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.ended = true
	_ = s.control.SetWriteDeadline(longAgo)
}

// displaced tells whether the answer broke off for another's sake.
func (s *seat) displaced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// release gives everything back: the answer is over, or what was taken for it.
func (s *seat) release() {
	if !s.counts {
		return
	}
	s.counts = false
	s.mu.Lock()
	held, leave := s.held, s.leave
	s.held, s.leave, s.since, s.over = nil, nil, time.Time{}, true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	if leave != nil {
		leave()
	}
	for _, give := range held {
		give()
	}
}
