package facade

import (
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/rbac"
)

// authenticationCounts counts the outcomes of authentication in metrics. It implements auth.Outcomes.
type authenticationCounts struct{ metrics *metrics.Metrics }

// Attempted implements auth.Outcomes.
func (c authenticationCounts) Attempted(result auth.Result) { c.metrics.Attempted(string(result)) }

// Reviewed implements auth.Outcomes.
func (c authenticationCounts) Reviewed(result auth.Result, took time.Duration) {
	c.metrics.Reviewed("token", string(result), took)
}

// TokenAccepted implements auth.Outcomes.
func (c authenticationCounts) TokenAccepted(by auth.Means) { c.metrics.TokenAccepted(string(by)) }

// countedRights is an rbac.Rights that counts its calls in metrics and passes them to another rbac.Rights.
type countedRights struct {
	rbac.Rights
	metrics *metrics.Metrics
}

// Gained implements rbac.Rights.
func (c countedRights) Gained(affected func(user.Info) bool) {
	c.Rights.Gained(affected)
	c.metrics.RightsChanged("gained")
}

// Lost implements rbac.Rights.
func (c countedRights) Lost(affected func(user.Info) bool) {
	c.Rights.Lost(affected)
	c.metrics.RightsChanged("lost")
}

// authorizationCounts counts the outcomes of authorization in metrics. It implements auth.Observer.
type authorizationCounts struct{ metrics *metrics.Metrics }

// Decided implements auth.Observer.
func (c authorizationCounts) Decided(outcome auth.Outcome) { c.metrics.Decided(string(outcome)) }

// Reviewed implements auth.Observer.
func (c authorizationCounts) Reviewed(purpose auth.Purpose, took time.Duration, err error) {
	result := "answered"
	if err != nil {
		result = "unavailable"
	}
	c.metrics.Reviewed(string(purpose), result, took)
}

// WatchAuthorizationEnded implements auth.Observer.
func (c authorizationCounts) WatchAuthorizationEnded(why auth.Ending) {
	c.metrics.Terminated(string(why))
}

// SharingChanged implements auth.Observer.
func (c authorizationCounts) SharingChanged(to auth.Sharing) {
	if to == auth.Shared {
		c.metrics.DecisionsShared(1)
		return
	}
	c.metrics.DecisionsShared(0)
}
