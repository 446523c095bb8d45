package fresh

import (
	"errors"
	"fmt"
	"time"
)

// ThrottledError is returned if the upstream throttled a request, or throttled an earlier one a moment ago and was not
// sent this one. It is ErrUnproven.
type ThrottledError struct {
	After time.Duration // time before the next request, by the upstream's response; 0 if it does not say
	Err   error         // upstream's response; nil if no request was sent
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
	// minPause and maxPause limit how long no probe is sent to an upstream that throttles.
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
