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

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// slow is an upstream that reviews at a limited speed, in order of arrival.
type slow struct {
	*judge
	workers func() chan struct{} // made by the first review, in the bubble of the test
	each    time.Duration        // time of a worker for a review
}

func newSlow(j *judge, workers int, each time.Duration) slow {
	return slow{judge: j, workers: sync.OnceValue(func() chan struct{} { return make(chan struct{}, workers) }), each: each}
}

// Post implements Upstream.
func (s slow) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	workers := s.workers()
	select {
	case workers <- struct{}{}:
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	defer func() { <-workers }()
	select {
	case <-time.After(s.each):
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	return s.judge.Post(ctx, path, body)
}

// flood sends 25 new questions per second for each share until the context ends. It does not wait for the answers.
func flood(ctx context.Context, r *Reviews, shares int) {
	left, leave := context.WithCancel(ctx)
	leave()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		for i := range shares {
			a := podsOf(person(fmt.Sprint("mallory", i)), "a")
			a.Verb, a.Name = "get", fmt.Sprint("name", n) // one verdict would answer all watches
			_, _ = r.Authorize(left, a)
		}
		<-tick.C
	}
}

// flooded runs a test during a flood from the given number of shares, six seconds after its start. The upstream answers
// 250 reviews a second, fewer than a flood of more than ten shares. After six seconds, 900 questions of 16 shares wait.
// In the order of arrival, a further question would wait for more than three seconds.
func flooded(t *testing.T, j *judge, shares int, test func(*testing.T, *Reviews)) {
	t.Helper()
	following(t, ReviewsConfig{Upstream: newSlow(j, 2, 8*time.Millisecond)}, func(t *testing.T, r *Reviews) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); flood(ctx, r, shares) }()
		<-time.After(6 * time.Second)
		test(t, r)
		stop()
		<-ended
		<-time.After(seatWait + reviewTimeout)
		if load := r.config.Seats.Load(); load.Taken != 0 || load.Waiting != 0 || r.Paced() != 0 {
			t.Errorf("got %+v and %d questions in queues, want none", load, r.Paced())
		}
	})
}

// In a flood of questions, watches that lost their permission receive no more events and end soon.
func TestWatchesEndOnRevocationDuringFlood(t *testing.T) {
	var revoked atomic.Bool
	j := newJudge()
	j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
		return !revoked.Load() || !strings.HasPrefix(s.User, "bob")
	}
	flooded(t, j, 16, func(t *testing.T, r *Reviews) {
		var watches []*WatchAuthorization
		for i := range 100 {
			a := podsOf(person(fmt.Sprint("bob", i)), "a")
			allow(r, a)
			watches = append(watches, r.AuthorizeWatch(a))
		}
		revoked.Store(true)
		r.Lost(Affected{"": func(caller user.Info) bool { return strings.HasPrefix(caller.GetName(), "bob") }})
		var all sync.WaitGroup
		for _, w := range watches {
			all.Go(func() {
				if got, took := checkResult(t, w); got != "revoked" || took > 1500*time.Millisecond {
					t.Errorf("got %s after %s, want revoked within 1.5s", got, took)
				}
			})
		}
		all.Wait()
	})
}

// In a flood of questions, a caller with few questions waits for one turn of each other caller only.
func TestOtherCallersAreAnsweredDuringFlood(t *testing.T) {
	for _, shares := range []int{1, 8, settings.Amount(16, 64)} {
		t.Run(fmt.Sprint(shares), func(t *testing.T) {
			j := newJudge()
			flooded(t, j, shares, func(t *testing.T, r *Reviews) {
				for i := range settings.Amount(8, 20) {
					began := time.Now()
					got := outcome(r, t.Context(), podsOf(person("alice"), fmt.Sprint(i)))
					if most := time.Duration(shares+16) * 4 * time.Millisecond; got != "granted" || time.Since(began) > most {
						t.Errorf("got %s after %s, want granted within %s", got, time.Since(began), most)
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

// A caller with many questions waits at its pace, in order. It is refused only when its queue is full. The first
// question of another caller does not wait.
func TestCallerWithManyQuestionsWaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewReviews(ReviewsConfig{Upstream: newSlow(newJudge(), 4, time.Millisecond)})
		mallory, began := person("mallory"), time.Now()
		var (
			all           sync.WaitGroup
			granted, busy atomic.Int64
		)
		for i := range 1000 {
			all.Go(func() {
				switch got := outcome(r, t.Context(), podsOf(mallory, fmt.Sprint(i))); got {
				case "granted":
					granted.Add(1)
				case "busy":
					busy.Add(1)
				default:
					t.Error(got)
				}
			})
		}
		synctest.Wait()
		if got := outcome(r, t.Context(), podsOf(person("alice"), "a")); got != "granted" || time.Since(began) > 10*time.Millisecond {
			t.Errorf("got %s after %s, want granted within 10ms", got, time.Since(began))
		}
		all.Wait()
		if took := time.Since(began); granted.Load() < 690 || granted.Load()+busy.Load() != 1000 || took < 9*time.Second {
			t.Errorf("got %d granted and %d busy in %s, want the burst of 200 and 500 in the next ten seconds", granted.Load(), busy.Load(), took)
		}
		<-time.After(5 * time.Second) // the pace of the caller returns
	})
}

// A review that gets no seat in time does not count as an outage, so events keep waiting for theirs.
func TestReviewWithoutSeatIsNoOutage(t *testing.T) {
	var revoked atomic.Bool
	j := newJudge()
	j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return !revoked.Load() }
	following(t, ReviewsConfig{Upstream: newSlow(j, 1000, 4*time.Second)}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		w := hold(t, r, a)
		var (
			all  sync.WaitGroup
			busy atomic.Int64
		)
		for i := range 100 {
			all.Go(func() {
				if outcome(r, t.Context(), podsOf(person(fmt.Sprint("user", i)), "b")) == "busy" {
					busy.Add(1)
				}
			})
		}
		synctest.Wait()
		revoked.Store(true)
		r.Lost(named("alice"))
		if got, took := checkResult(t, w); got != "revoked" || took < 5*time.Second {
			t.Errorf("got %s after %s, want revoked after more than 5s", got, took)
		}
		all.Wait()
		if r.trouble.isOn() || busy.Load() == 0 {
			t.Errorf("got an outage: %t, and %d busy, want no outage and some busy", r.trouble.isOn(), busy.Load())
		}
	})
}

// When reviews under way are not answered, further ones are unavailable, not busy.
func TestReviewWithoutSeatInOutageIsUnavailable(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.wait = make(chan struct{})
		r := NewReviews(ReviewsConfig{Upstream: j})
		var (
			all   sync.WaitGroup
			mu    sync.Mutex // guards count
			count = map[string]int{}
		)
		for i := range 100 {
			all.Go(func() {
				got := outcome(r, t.Context(), podsOf(person(fmt.Sprint("user", i)), "a"))
				mu.Lock()
				defer mu.Unlock()
				count[got]++
			})
		}
		all.Wait()
		if count["unavailable"] != 100 {
			t.Errorf("got %v, want 100 unavailable", count)
		}
	})
}
