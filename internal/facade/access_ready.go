package facade

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// reviewsAgain is after how long a facade that may not ask what it has to tries again.
const reviewsAgain = time.Second

// errNoReviews is before the upstream has said.
var errNoReviews = errors.New("the upstream has not answered a review of each kind yet")

// reviewable is whether the upstream has reviewed a token and a right since the start. A deployment whose user may ask
// neither never gets ready. Once it has, that stays: all facades ask the same upstream, so that one which left the
// others would help nobody.
type reviewable struct {
	asked []func(context.Context) error // one for each kind of review
	log   *zap.Logger
	done  atomic.Bool
}

// run asks until each has been answered.
func (r *reviewable) run(ctx context.Context) {
	again := time.NewTicker(reviewsAgain)
	defer again.Stop()
	warned := ""
	for _, ask := range r.asked {
		for err := ask(ctx); err != nil; err = ask(ctx) {
			if text := err.Error(); text != warned && ctx.Err() == nil {
				warned = text
				r.log.Error("the upstream does not review for the facade, which is not ready before it does: its user needs the ClusterRole system:auth-delegator",
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

// healthy is why not.
func (r *reviewable) healthy() error {
	if !r.done.Load() {
		return errNoReviews
	}
	return nil
}
