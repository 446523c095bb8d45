package fresh

import (
	"errors"
	"fmt"
	"time"
)

// ThrottledError is returned if the upstream throttled a request, or if a request was not sent because the upstream
// throttled an earlier one. It is an ErrUnproven.
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

// Unwrap returns the field Err.
func (e *ThrottledError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrUnproven) true.
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

func (s *store) paused() error {
	if until := s.notBefore.Load(); !isPast(until) {
		return &ThrottledError{After: time.Until(*until)}
	}
	return nil
}
