package facade

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const reviewsAgain = time.Second

var errNoReviews = errors.New("the upstream has not answered a TokenReview and a SubjectAccessReview yet")

// reviewable records whether the upstream has answered a TokenReview and a SubjectAccessReview since the start. If the
// facade's user lacks permission to create them, the facade does not become ready. A ready facade stays ready. All
// replicas use the same upstream, so clients would gain nothing if one replica left the Service.
type reviewable struct {
	reviews []func(context.Context) error // one for each kind of review
	log     *zap.Logger
	done    atomic.Bool
}

// run repeats each review until the upstream answers it or the context ends.
func (r *reviewable) run(ctx context.Context) {
	again := time.NewTicker(reviewsAgain)
	defer again.Stop()
	warned := ""
	for _, review := range r.reviews {
		for err := review(ctx); err != nil; err = review(ctx) {
			if text := err.Error(); text != warned && ctx.Err() == nil {
				warned = text
				r.log.Error("Reviews are refused or fail, so the facade is not ready; the kubeconfig user needs the ClusterRole system:auth-delegator",
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

func (r *reviewable) healthy() error {
	if !r.done.Load() {
		return errNoReviews
	}
	return nil
}
