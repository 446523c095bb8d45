package facade

import (
	"context"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/upstream"
)

// authorizers writes whether the tokens of a service account share decisions. If they do not, the facade works, but
// sends more access reviews.
func (i *inspection) authorizers(ctx context.Context) bool {
	c := i.config.Authorization
	if i.config.Authentication.AnonymousActsAsKubeconfig || auth.ExtrasMode(c.Extras) != auth.DetectExtras {
		return true
	}
	config, err := i.rest, error(nil)
	if c.Kubeconfig != "" {
		config, err = RESTConfig(Config{Kubeconfig: c.Kubeconfig})
	}
	var reviewer *upstream.Reviewer
	if err == nil {
		reviewer, err = upstream.NewReviewer(config, upstream.NewHop())
	}
	if err == nil {
		defer reviewer.CloseIdle()
		err = auth.DetectAuthorizers(ctx, reviewer, reviewer)
	}
	if err != nil {
		i.note("authorizers", "each token of a service account has its own access reviews: "+err.Error())
		return true
	}
	return i.say("authorizers", nil, "the tokens of a service account share access reviews")
}
