package facade

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A facade becomes ready when each kind of review was answered once, however late, and stays ready.
func TestReadyAfterEachReview(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var tokens, rights atomic.Int64
		r := &reviewable{log: zaptest.NewLogger(t), reviews: []func(context.Context) error{
			func(context.Context) error { return failing(tokens.Add(1) < 3) },
			func(context.Context) error { return failing(rights.Add(1) < 2) },
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.run(ctx)
		synctest.Wait()
		if r.healthy() == nil || tokens.Load() != 1 || rights.Load() != 0 {
			t.Errorf("healthy after %d and %d reviews", tokens.Load(), rights.Load())
		}
		for range 3 {
			<-time.After(reviewsAgain)
			synctest.Wait()
		}
		if err := r.healthy(); err != nil || tokens.Load() != 3 || rights.Load() != 2 {
			t.Errorf("got %v after %d and %d reviews", err, tokens.Load(), rights.Load())
		}
	})
}

// A facade that may review access but not tokens never becomes ready, and its shutdown is not delayed.
func TestNotReadyWithoutTokenReviews(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &reviewable{log: zaptest.NewLogger(t), reviews: []func(context.Context) error{
			func(context.Context) error { return nil }, func(context.Context) error { return failing(true) },
		}}
		ended := make(chan struct{})
		go func() { defer close(ended); r.run(ctx) }()
		<-time.After(100 * reviewsAgain)
		if r.healthy() == nil {
			t.Error("became ready, want not ready")
		}
		cancel()
		<-ended
	})
}

func failing(fails bool) error {
	if fails {
		return errors.New("403")
	}
	return nil
}
