package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// paced is an upstream that accepts reviews at a limited rate.
type paced struct {
	*judge
	turns *rate.Limiter
}

type notSentError struct{ error }

func (notSentError) NotSent() {}

// Post implements Upstream.
func (p paced) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	if err := p.turns.Wait(ctx); err != nil {
		return 0, nil, notSentError{err}
	}
	return p.judge.Post(ctx, path, body)
}

// flood sends 50 new questions per second for each share until the context ends. It does not wait for the answers.
func flood(ctx context.Context, r *Reviews, shares int) {
	left, leave := context.WithCancel(ctx)
	leave()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		for i := range shares {
			a := podsOf(person(fmt.Sprint("mallory", i)), "a")
			a.Name = fmt.Sprint("name", n)
			_, _ = r.Authorize(left, a)
		}
		<-tick.C
	}
}

// flooded runs a test during a flood from the given number of shares, ten seconds after its start.
func flooded(t *testing.T, j *judge, shares int, total Rate, test func(*testing.T, *Reviews)) {
	t.Helper()
	config := ReviewsConfig{
		Upstream: paced{j, rate.NewLimiter(200, 400)}, TotalRate: total, Watches: WatchAuthorizationConfig{Upstream: j},
	}
	following(t, config, func(t *testing.T, r *Reviews) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); flood(ctx, r, shares) }()
		<-time.After(10 * time.Second)
		test(t, r)
		stop()
		<-ended
		<-time.After(reviewTimeout)
	})
}

// In a flood of questions, watches that lost their permission receive no more events and end soon. This also applies if
// the total rate is higher than the rate of the upstream.
func TestWatchesEndOnRevocationDuringFlood(t *testing.T) {
	for name, total := range map[string]Rate{"usual": {}, "a full queue": {PerSecond: 400, Burst: 800}} {
		t.Run(name, func(t *testing.T) {
			var revoked atomic.Bool
			j := newJudge()
			j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				return !revoked.Load() || !strings.HasPrefix(s.User, "bob")
			}
			flooded(t, j, 16, total, func(t *testing.T, r *Reviews) {
				var watches []*WatchAuthorization
				for i := range 100 {
					a := podsOf(person(fmt.Sprint("bob", i)), "a")
					allow(r, a)
					watches = append(watches, r.AuthorizeWatch(a))
				}
				revoked.Store(true)
				r.Lost(func(caller user.Info) bool { return strings.HasPrefix(caller.GetName(), "bob") })
				var all sync.WaitGroup
				for _, w := range watches {
					all.Go(func() {
						if got, took := checkResult(t, w); got != "revoked" || took > 2*time.Second {
							t.Errorf("got %s after %s, want revoked within 2s", got, took)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// In a flood of questions, a caller with few questions is answered immediately.
func TestOtherCallersAreAnsweredDuringFlood(t *testing.T) {
	for _, shares := range []int{4, 16} {
		t.Run(fmt.Sprint(shares), func(t *testing.T) {
			j := newJudge()
			flooded(t, j, shares, Rate{}, func(t *testing.T, r *Reviews) {
				for i := range 20 {
					began := time.Now()
					if got := outcome(r, t.Context(), podsOf(person("alice"), fmt.Sprint(i))); got != "granted" || time.Since(began) > 0 {
						t.Errorf("got %s after %s, want granted immediately", got, time.Since(began))
					}
					<-time.After(time.Duration(500+i) * time.Millisecond)
				}
				if r.trouble.isOn() {
					t.Error("got an outage, want none")
				}
			})
		})
	}
}

// A review that was not sent does not count as an outage, so events keep waiting for it.
func TestUnsentReviewIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		upstream := paced{j, rate.NewLimiter(rate.Every(8*time.Second), 1)}
		r := NewReviews(ReviewsConfig{Upstream: upstream})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go r.Run(ctx)
		a := podsOf(person("alice"), "a")
		w := hold(t, r, a)
		defer w.Release()
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := outcome(r, t.Context(), podsOf(a.Caller, "b")); got != "busy" {
			t.Errorf("got %s for a review that cannot be sent, want busy", got)
		}
		r.Lost(named("alice"))
		if got, took := checkResult(t, w); got != "revoked" || took < 5*time.Second {
			t.Errorf("got %s after %s, want revoked after more than 5s", got, took)
		}
	})
}
