package handlers

import (
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// maxClientDelay is how long a client may be behind minClientSpeed before the request's seats are released.
	maxClientDelay = 100 * time.Millisecond
	// minClientSpeed is the minimum speed of a client in bytes per second. A client with this speed does not delay its
	// response. A list thus keeps its seat even if the facade takes seconds to write it.
	minClientSpeed = 2 << 20
	// onePiece bounds the time that the timer allows for one piece: at most the time that a client with minClientSpeed
	// takes for onePiece bytes.
	onePiece = 128 << 10
	// unsent is the number of bytes at the start of a response that net/http buffers. They never wait for the client.
	unsent = 4 << 10
	// stallMemory is the approximate memory in bytes of a stalled response: a goroutine and the bytes to write.
	stallMemory = 64 << 10
)

// seat contains the seats that a request takes from its caller's share: one for the request, and others for its list
// bytes in flight. Seats are for the facade's work, not for the client's reading. When the client has delayed the
// response for too long, all seats are released. The response then counts as stalled, and stalled responses have limits
// of their own (ADR 28).
//
// It is used by the request's goroutine, by the timer (look), and by another request (TakenAt, End).
type seat struct {
	stalls  *limit.Stalls
	key     string
	control *http.ResponseController

	counts bool  // seats are taken
	sent   int64 // bytes of the response, including the current piece

	// mu guards the fields below. It is locked while a deadline is set, because no deadline may be set after over is true.
	mu     sync.Mutex
	memory int64         // bytes of memory that the response takes
	held   []func()      // release the seats; each may be called more than once
	left   time.Duration // time for which the client may still delay the response
	since  time.Time     // start of the current piece; zero between pieces
	timer  *time.Timer   // nil before the first piece that is measured
	taken  time.Time     // when the client last accepted a piece
	leave  func()        // removes the response from the field stalls; nil if the response is not stalled
	ended  bool          // another request has ended the response
	over   bool          // the response has ended, for any reason
}

// hold adds seats that the request has taken for a key. leave releases them, and must allow repeated calls. A request
// that tries again after a wait (Server.cache) may have released its seats before.
func (s *seat) hold(stalls *limit.Stalls, key string, leave func()) {
	s.counts = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalls, s.key, s.over = stalls, key, false
	if s.held = append(s.held, leave); len(s.held) == 1 {
		s.left, s.memory = maxClientDelay, stallMemory
	}
}

func (s *seat) grows(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory += bytes
}

// writes starts a piece of the given number of bytes. It returns errStalled if another request has ended the response.
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
	case len(s.held) == 0: // already released
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

// worth returns how long a client with minClientSpeed takes for the given number of bytes.
func worth(bytes int) time.Duration { return time.Duration(bytes) * time.Second / minClientSpeed }

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
	s.left = min(s.left+worth(bytes)-now.Sub(s.since), maxClientDelay)
	s.since, s.taken = time.Time{}, now
	if s.timer != nil {
		s.timer.Stop()
	}
}

// look is called by the timer when the client has delayed the response for too long, and releases the seats. If there
// are too many stalled responses, and all their clients still read, look keeps the seats and is called again later. The
// network is then slow, and more work would not help.
func (s *seat) look() {
	key, memory, stalls := s.stalling()
	if !stalls {
		return
	}
	leave, err := s.stalls.Enter(key, memory, s)
	s.mu.Lock()
	if err != nil {
		if !s.over {
			s.timer.Reset(maxClientDelay)
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

// End implements limit.Stalled. It breaks off the response.
func (s *seat) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.ended = true
	_ = s.control.SetWriteDeadline(longAgo)
}

func (s *seat) displaced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// release releases all seats. It is called at the end of the response, or of the work that the seats were taken for.
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
