package facade

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// reviewsAgain is the pause between attempts while the upstream refuses reviews.
const reviewsAgain = time.Second

// errNoReviews is returned until the upstream has answered one TokenReview and one SubjectAccessReview.
var errNoReviews = errors.New("the upstream has not answered a TokenReview and a SubjectAccessReview yet")

// reviewable records whether the upstream has answered a TokenReview and a SubjectAccessReview since the start. If the
// facade's user lacks permission to create them, the facade never becomes ready. A ready facade stays ready: all
// replicas use the same upstream, so clients would gain nothing if one replica left the Service.
type reviewable struct {
	reviews []func(context.Context) error // one for each kind of review
	log     *zap.Logger
	done    atomic.Bool
}

// run sends each review until the upstream answers it, or the context ends.
func (r *reviewable) run(ctx context.Context) {
	again := time.NewTicker(reviewsAgain)
	defer again.Stop()
	warned := ""
	for _, review := range r.reviews {
		for err := review(ctx); err != nil; err = review(ctx) {
			if text := err.Error(); text != warned && ctx.Err() == nil {
				warned = text
				r.log.Error("Reviews are refused or fail, so the facade is not ready; its user needs the ClusterRole system:auth-delegator",
					zap.Error(err))
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	}
	r.done.Store(true)
}

// healthy returns errNoReviews until every review has been answered.
func (r *reviewable) healthy() error {
	if !r.done.Load() {
		return errNoReviews
	}
	return nil
}
