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

// paced is an upstream that is asked at a bounded rate.
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

// flood asks ever new things in the name of each share, fifty a second, until the context ends; nobody waits for the
// answers.
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

// flooded runs a test while shares flood, and have for ten seconds, under the rates given.
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

// However many ask ever new things, watches that lost their right are sent nothing more, and end soon. That holds also
// where more is let in than can be asked.
func TestRevocationInAFlood(t *testing.T) {
	for name, total := range map[string]Rate{"usual": {}, "a full queue": {PerSecond: 400, Burst: 800}} {
		t.Run(name, func(t *testing.T) {
			var revoked atomic.Bool
			j := newJudge()
			j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				return !revoked.Load() || !strings.HasPrefix(s.User, "bob")
			}
			flooded(t, j, 16, total, func(t *testing.T, r *Reviews) {
				var leases []*WatchAuthorization
				for i := range 100 {
					a := podsOf(person(fmt.Sprint("bob", i)), "a")
					allow(r, a)
					leases = append(leases, r.Hold(a))
				}
				revoked.Store(true)
				r.Lost(func(who user.Info) bool { return strings.HasPrefix(who.GetName(), "bob") })
				var all sync.WaitGroup
				for _, l := range leases {
					all.Go(func() {
						if got, took := passes(t, l); got != "revoked" || took > 2*time.Second {
							t.Errorf("an event %s after %s", got, took)
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// Who asks for little is answered, however many ask for ever new things.
func TestOthersInAFlood(t *testing.T) {
	for _, shares := range []int{4, 16} {
		t.Run(fmt.Sprint(shares), func(t *testing.T) {
			j := newJudge()
			flooded(t, j, shares, Rate{}, func(t *testing.T, r *Reviews) {
				for i := range 20 {
					began := time.Now()
					if got := how(r, t.Context(), podsOf(person("alice"), fmt.Sprint(i))); got != "granted" || time.Since(began) > 0 {
						t.Errorf("%s after %s", got, time.Since(began))
					}
					<-time.After(time.Duration(500+i) * time.Millisecond)
				}
				if r.trouble.isOn() {
					t.Error("the upstream is taken for one that does not answer")
				}
			})
		})
	}
}

// A question that was not sent is no sign of an upstream that does not answer: events wait on for it.
func TestFullPaceIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		upstream := paced{j, rate.NewLimiter(rate.Every(8*time.Second), 1)}
		r := NewReviews(ReviewsConfig{Upstream: upstream})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go r.Run(ctx)
		a := podsOf(person("alice"), "a")
		l := hold(t, r, a)
		defer l.Release()
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := how(r, t.Context(), podsOf(a.Caller, "b")); got != "busy" {
			t.Errorf("what cannot be asked is %s", got)
		}
		r.Lost(named("alice"))
		if got, took := passes(t, l); got != "revoked" || took < 5*time.Second {
			t.Errorf("an event %s after %s", got, took)
		}
	})
}
