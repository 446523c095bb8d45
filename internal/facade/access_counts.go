package facade

import (
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/rbac"
)

// authenticationCounts counts the outcomes of authentication in metrics. It implements auth.Outcomes.
type authenticationCounts struct{ metrics *metrics.Metrics }

func (c authenticationCounts) Attempted(result auth.Result) { c.metrics.Attempted(string(result)) }

func (c authenticationCounts) Reviewed(result auth.Result, took time.Duration) {
	c.metrics.Reviewed("token", string(result), took)
}

func (c authenticationCounts) TokenAccepted(by auth.Means) { c.metrics.TokenAccepted(string(by)) }

// countedRights counts the calls to an rbac.Rights in metrics.
type countedRights struct {
	rbac.Rights
	metrics *metrics.Metrics
}

func (c countedRights) Gained(affected rbac.Affected) {
	c.Rights.Gained(affected)
	c.metrics.RightsChanged("gained")
}

func (c countedRights) Lost(affected rbac.Affected) {
	c.Rights.Lost(affected)
	c.metrics.RightsChanged("lost")
}

// authorizationCounts counts the outcomes of authorization in metrics. It implements auth.Observer.
type authorizationCounts struct{ metrics *metrics.Metrics }

func (c authorizationCounts) Decided(outcome auth.Outcome) { c.metrics.Decided(string(outcome)) }

func (c authorizationCounts) Reviewed(purpose auth.Purpose, took time.Duration, err error) {
	result := "answered"
	if err != nil {
		result = "unavailable"
	}
	c.metrics.Reviewed(string(purpose), result, took)
}

func (c authorizationCounts) WatchAuthorizationEnded(why auth.Ending) {
	c.metrics.Terminated(string(why))
}

func (c authorizationCounts) SharingChanged(to auth.Sharing) {
	if to == auth.Shared {
		c.metrics.DecisionsShared(1)
		return
	}
	c.metrics.DecisionsShared(0)
}
