package reflector

import "time"

const (
	// bookmarkEvery is how far kube-apiserver's bookmarks are apart (semantics 4.3). Once one came on a watch, they come
	// whatever happens.
	bookmarkEvery = time.Minute
	// bookmarkLate is how much later than expected a bookmark of a busy upstream may come.
	bookmarkLate = 30 * time.Second
	// silenceEvery is how often it is looked whether a stream is silent.
	silenceEvery = 10 * time.Second
)

// silence tells whether a stream that gets bookmarks has become silent: the connection is dead and nobody said so, or
// who is at its other end hangs.
type silence struct {
	every    time.Duration // the longest distance between bookmarks so far; 0 until there was one
	marked   time.Time     // when the last bookmark came, or the stream was opened
	received time.Time     // when anything came
}

func newSilence() *silence {
	now := time.Now()
	return &silence{marked: now, received: now}
}

// breaks notes what came.
func (s *silence) breaks(kind stepKind) {
	s.received = time.Now()
	if kind == stepBookmark {
		s.every = max(s.every, s.received.Sub(s.marked), bookmarkEvery)
		s.marked = s.received
	}
}

// isDeath tells whether nothing came for two of the distances between bookmarks.
func (s *silence) isDeath() bool {
	return s.every > 0 && time.Since(s.received) > 2*s.every+bookmarkLate
}
