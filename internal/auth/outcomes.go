package auth

import (
	"context"
	"errors"
	"time"
)

// Result is how an attempt to authenticate ended.
type Result string

// The results.
const (
	Authenticated    Result = "success"
	NotAuthenticated Result = "failure"     // nobody was proven
	NotReviewable    Result = "unavailable" // the upstream could not be asked
	TooMany          Result = "busy"        // the source had too much reviewed
)

// Outcomes counts. Its methods are called from many goroutines and must not block.
type Outcomes interface {
	// Attempted counts a request that was to be authenticated.
	Attempted(result Result)
	// Reviewed counts a TokenReview that was sent, and what it took; its result is never TooMany.
	Reviewed(result Result, took time.Duration)
}

type nobodyCounts struct{}

// Attempted implements Outcomes.
func (nobodyCounts) Attempted(Result) {}

// Reviewed implements Outcomes.
func (nobodyCounts) Reviewed(Result, time.Duration) {}

// resultOf names how an attempt ended. One whose client left before the end does not count.
func resultOf(err error) (result Result, counts bool) {
	if err == nil {
		return Authenticated, true
	}
	var unavailable *UnavailableError
	var busy *BusyError
	switch {
	case errors.As(err, &busy):
		return TooMany, true
	case errors.As(err, &unavailable):
		return NotReviewable, true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", false
	default:
		return NotAuthenticated, true
	}
}
