package fresh

import (
	"errors"
	"fmt"
	"time"
)

// ThrottledError is returned if the upstream throttled a request. It is also returned if a request was not sent because
// the upstream throttled an earlier request a moment ago. It is an ErrUnproven.
type ThrottledError struct {
	After time.Duration // time to wait before the next request, from the upstream's response; 0 if unknown
	Err   error         // error of the upstream's response; nil if no request was sent
}

func (e *ThrottledError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the upstream throttles requests; next attempt in %s", e.After)
	}
	return e.Err.Error()
}

// Unwrap returns the upstream's response.
func (e *ThrottledError) Unwrap() error { return e.Err }

// Is reports that the error is also ErrUnproven.
func (e *ThrottledError) Is(target error) bool { return target == ErrUnproven }

func isThrottled(err error) bool {
	var throttled *ThrottledError
	return errors.As(err, &throttled)
}

const (
	// minPause and maxPause limit the pause without probes after the upstream throttled one.
	minPause = time.Second
	maxPause = 30 * time.Second
)

func (s *store) pause(d time.Duration) {
	until := time.Now().Add(max(minPause, min(d, maxPause)))
	s.notBefore.Store(&until)
}

// paused returns a *ThrottledError during a pause.
func (s *store) paused() error {
	if until := s.notBefore.Load(); !isPast(until) {
		return &ThrottledError{After: time.Until(*until)}
	}
	return nil
}
