package facade

import (
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
)

// authenticationCounts is an auth.Outcomes.
type authenticationCounts struct{ metrics *observe.Metrics }

// Attempted implements auth.Outcomes.
func (c authenticationCounts) Attempted(result auth.Result) { c.metrics.Attempted(string(result)) }

// Reviewed implements auth.Outcomes.
func (c authenticationCounts) Reviewed(result auth.Result, took time.Duration) {
	c.metrics.Reviewed("token", string(result), took)
}

// authorizationCounts is an auth.Observer.
type authorizationCounts struct{ metrics *observe.Metrics }

// Decided implements auth.Observer.
func (c authorizationCounts) Decided(outcome auth.Outcome) { c.metrics.Decided(string(outcome)) }

// Reviewed implements auth.Observer.
func (c authorizationCounts) Reviewed(asker auth.Asker, took time.Duration, err error) {
	result := "answered"
	if err != nil {
		result = "unavailable"
	}
	c.metrics.Reviewed(string(asker), result, took)
}

// LeaseEnded implements auth.Observer.
func (c authorizationCounts) LeaseEnded(why auth.Ending) { c.metrics.Terminated(string(why)) }
