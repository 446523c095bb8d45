package auth

import "time"

// Outcome is the result of authorizing a request.
type Outcome string

// Outcomes of Authorize.
const (
	NotReviewed Outcome = "not_reviewed" // allowed by configuration, or forwarded to the upstream
	Allowed     Outcome = "allowed"
	Denied      Outcome = "denied"
	AllowedKept Outcome = "allowed_cached"
	DeniedKept  Outcome = "denied_cached"
	AllowedLate Outcome = "allowed_stale" // by an expired decision, because the upstream did not answer
	Busy        Outcome = "busy"
	Unavailable Outcome = "unavailable"
	Left        Outcome = "left" // the request ended before the review
)

// Purpose is the purpose of a review.
type Purpose string

// Values of Purpose.
const (
	ForRequest Purpose = "request"
	ForWatch   Purpose = "watch"
)

// Ending is the reason for which a watch authorization ended.
type Ending string

// Reasons for the end of a watch authorization, other than its release.
const (
	EndRevoked    Ending = "revoked"    // refused by the upstream
	EndCredential Ending = "credential" // credential expired
	EndIdentity   Ending = "identity"   // service account or pod deleted
	EndUnanswered Ending = "unanswered" // no answer from the upstream for too long
)

// Observer receives events for metrics. Its methods must not block, because they may be called under locks.
type Observer interface {
	Decided(outcome Outcome)
	// Reviewed is called after each review for a request or a watch; err is nil if the upstream decided it.
	Reviewed(purpose Purpose, took time.Duration, err error)
	WatchAuthorizationEnded(why Ending)
	// SharingChanged is called with the first state, and after each change.
	SharingChanged(to Sharing)
}

type noObserver struct{}

func (noObserver) Decided(Outcome)                        {}
func (noObserver) Reviewed(Purpose, time.Duration, error) {}
func (noObserver) WatchAuthorizationEnded(Ending)         {}
func (noObserver) SharingChanged(Sharing)                 {}
