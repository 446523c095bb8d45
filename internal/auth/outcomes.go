package auth

import (
	"context"
	"errors"
	"time"
)

// Result is the result of authenticating a request or reviewing a token.
type Result string

// Values of Result.
const (
	Authenticated    Result = "success"
	NotAuthenticated Result = "failure"     // invalid or missing credentials
	NotReviewable    Result = "unavailable" // the upstream did not answer
	TooMany          Result = "busy"        // too many logins failed, or too many reviews wait
)

// Means is how a token was accepted.
type Means string

// Values of Means.
const (
	ByReview       Means = "review"       // by a TokenReview, or its cached result
	ByVerification Means = "verification" // by its signature and the objects that it is bound to
)

// Outcomes counts results. Its methods are called from many goroutines and must not block.
type Outcomes interface {
	// Attempted counts an authenticated or refused request.
	Attempted(result Result)
	// Reviewed counts a TokenReview and its duration. The result is never TooMany.
	Reviewed(result Result, took time.Duration)
	// TokenAccepted counts a request whose token was accepted.
	TokenAccepted(by Means)
}

type noOutcomes struct{}

func (noOutcomes) Attempted(Result) {}

func (noOutcomes) Reviewed(Result, time.Duration) {}

func (noOutcomes) TokenAccepted(Means) {}

// resultOf returns the result for an error. A request whose context ended does not count.
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
