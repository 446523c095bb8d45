package reflector

import "time"

const (
	// bookmarkEvery is the interval between kube-apiserver's bookmarks (semantics 4.3). After the first bookmark on a
	// watch, kube-apiserver continues to send them.
	bookmarkEvery = time.Minute
	// bookmarkLate is how late a bookmark of a busy upstream may be.
	bookmarkLate = 30 * time.Second
	silenceEvery = 10 * time.Second
)

// silence detects that a stream with bookmarks brings nothing more, because the connection is dead or the server hangs.
type silence struct {
	every    time.Duration // longest interval between bookmarks so far; 0 before the first one
	marked   time.Time     // when the last bookmark arrived, or the stream was opened
	received time.Time     // when the last frame arrived
}

func newSilence() *silence {
	now := time.Now()
	return &silence{marked: now, received: now}
}

func (s *silence) note(kind stepKind) {
	s.received = time.Now()
	if kind == stepBookmark {
		s.every = max(s.every, s.received.Sub(s.marked), bookmarkEvery)
		s.marked = s.received
	}
}

// isTooLong reports whether nothing arrived for more than two bookmark intervals.
func (s *silence) isTooLong() bool {
	return s.every > 0 && time.Since(s.received) > 2*s.every+bookmarkLate
}
