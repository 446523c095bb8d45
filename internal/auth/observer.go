package auth

import "time"

// Outcome is how a question of a request ended.
type Outcome string

// The outcomes of Authorize.
const (
	NotReviewed Outcome = "not_reviewed" // allowed by configuration, or because the upstream is asked anyway
	Allowed     Outcome = "allowed"
	Denied      Outcome = "denied"
	AllowedKept Outcome = "allowed_cached"
	DeniedKept  Outcome = "denied_cached"
	AllowedLate Outcome = "allowed_stale" // by what was allowed before, since the upstream could not be asked
	Busy        Outcome = "busy"
	Unavailable Outcome = "unavailable"
	Left        Outcome = "left" // the request ended before the answer came
)

// Asker is on whose behalf a review is sent.
type Asker string

// The askers.
const (
	ByRequest            Asker = "request"
	ByWatchAuthorization Asker = "watch"
)

// Ending is why a lease ended.
type Ending string

// The endings of leases, but for their release.
const (
	EndRevoked    Ending = "revoked"    // the upstream says no
	EndCredential Ending = "credential" // the credential's time is over
	EndIdentity   Ending = "identity"   // the service account or the pod is no more
	EndUnanswered Ending = "unanswered" // the upstream did not say for too long
)

// Observer is told what happens, for metrics. Its methods return at once: they are called under locks.
type Observer interface {
	Decided(outcome Outcome)
	// Reviewed is one review that was sent; err is why it has no answer.
	Reviewed(asker Asker, took time.Duration, err error)
	WatchAuthorizationEnded(why Ending)
}

type nobody struct{}

func (nobody) Decided(Outcome)                      {}
func (nobody) Reviewed(Asker, time.Duration, error) {}
func (nobody) WatchAuthorizationEnded(Ending)       {}
