package fresh

import (
	"errors"
	"fmt"
	"time"
)

// ThrottledError says that the upstream has sent a question away because it has too much to do, or that it has done so
// a moment ago and was not asked again. Nothing is proven then: it is ErrUnproven.
type ThrottledError struct {
	After time.Duration // how long it wants to be left alone; 0 when it does not say
	Err   error         // its answer; nil when it was not asked
}

func (e *ThrottledError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the upstream sends questions away, and is asked again in %s", e.After)
	}
	return e.Err.Error()
}

// Unwrap returns the upstream's answer.
func (e *ThrottledError) Unwrap() error { return e.Err }

// Is tells that it is ErrUnproven, too.
func (e *ThrottledError) Is(target error) bool { return target == ErrUnproven }

func isThrottled(err error) bool {
	var throttled *ThrottledError
	return errors.As(err, &throttled)
}

const (
	// leastPause is how long an upstream that throttles is left alone at least, and mostPause at most.
	leastPause = time.Second
	mostPause  = 30 * time.Second
)

func (s *store) pause(d time.Duration) {
	until := time.Now().Add(max(leastPause, min(d, mostPause)))
	s.notBefore.Store(&until)
}

// paused is a *ThrottledError while the upstream is left alone.
func (s *store) paused() error {
	if until := s.notBefore.Load(); !isPast(until) {
		return &ThrottledError{After: time.Until(*until)}
	}
	return nil
}
