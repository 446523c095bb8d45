package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

const agent = "system:serviceaccount:ns:agent"

// podOf returns the caller with the token of a pod of a service account.
func podOf(account, pod string) *Caller {
	return NewCaller(&user.DefaultInfo{
		Name: account, UID: "u", Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Extra: map[string][]string{
			user.CredentialIDKey: {"JTI=" + pod}, serviceaccount.PodName: {pod}, serviceaccount.PodUID: {"uid-" + pod},
			serviceaccount.NodeName: {"node-" + pod}, serviceaccount.NodeUID: {"node-uid-" + pod},
		},
	}, ByToken, time.Time{})
}

// rbac answers as kube-apiserver with RBAC does, which allows everything to service accounts.
func rbac(s authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if s.User == stranger.Name() {
		return authorizationv1.SubjectAccessReviewStatus{}
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by ClusterRoleBinding "agents"`}
}

// webhookAgainst answers as rbac behind a webhook that denies a pod.
func webhookAgainst(pod string) authorize {
	return func(s authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
		if names := s.Extra[serviceaccount.PodName]; len(names) == 1 && names[0] == pod {
			return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "not this pod"}
		}
		return rbac(s)
	}
}

// detecting runs a test with Reviews that share decisions while metrics show no webhook, after the first check.
func detecting(t *testing.T, j *judge, m *scrapes, test func(*testing.T, *Reviews)) {
	t.Helper()
	j.status = rbac
	m.text = onlyRBAC
	following(t, ReviewsConfig{Upstream: j, Extras: DetectExtras, Metrics: m}, func(t *testing.T, r *Reviews) {
		synctest.Wait()
		if r.period() != 1 {
			t.Error("decisions are not shared after the first check")
		}
		j.total()
		m.count()
		test(t, r)
	})
}

// ask100 lets 100 pods ask the same question at once, and returns the number of reviews.
func ask100(t *testing.T, r *Reviews, j *judge) int {
	t.Helper()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if got := outcome(r, t.Context(), podsOf(podOf(agent, fmt.Sprint(i)), "a")); got != "granted" {
				t.Errorf("got %s, want granted", got)
			}
		})
	}
	all.Wait()
	return j.count(agent)
}

// The tokens of a service account share a decision, depending on the mode.
func TestTokensOfAccountShareDecisions(t *testing.T) {
	for mode, want := range map[ExtrasMode]int{"": 100, ConsiderExtras: 100, IgnoreExtras: 1, DetectExtras: 100} {
		t.Run(string(mode), func(t *testing.T) { // DetectExtras without metrics
			j := newJudge()
			following(t, ReviewsConfig{Upstream: j, Extras: mode}, func(t *testing.T, r *Reviews) {
				if n := ask100(t, r, j); n != want {
					t.Errorf("got %d reviews, want %d", n, want)
				}
			})
		})
	}
	t.Run("auto with metrics", func(t *testing.T) {
		j := newJudge()
		detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
			if n := ask100(t, r, j); n != 1 {
				t.Errorf("got %d reviews, want 1", n)
			}
		})
	})
}

// A refusal is shared, too.
func TestTokensOfAccountShareRefusals(t *testing.T) {
	j := newJudge()
	detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
		j.set(func() {
			j.status = func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
				return authorizationv1.SubjectAccessReviewStatus{}
			}
		})
		for i := range 10 {
			if got := outcome(r, t.Context(), podsOf(podOf(agent, fmt.Sprint(i)), "a")); got != "denied" {
				t.Errorf("got %s, want denied", got)
			}
		}
		if n := j.count(agent); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
	})
}

// Callers that differ in anything else never share a decision.
func TestOtherCallersShareNoDecision(t *testing.T) {
	vary := func(change func(*user.DefaultInfo)) *Caller {
		info := *podOf(agent, "p").Info.(*user.DefaultInfo)
		change(&info)
		return NewCaller(&info, ByToken, time.Time{})
	}
	callers := map[string]*Caller{
		"as it is":        podOf(agent, "p"),
		"another account": podOf("system:serviceaccount:ns:other", "p"),
		"another UID":     vary(func(i *user.DefaultInfo) { i.UID = "v" }),
		"another group":   vary(func(i *user.DefaultInfo) { i.Groups = []string{"system:masters"} }),
		"scopes": vary(func(i *user.DefaultInfo) {
			i.Extra = map[string][]string{"scopes.example.org": {"user:info"}, serviceaccount.PodName: {"p"}}
		}),
		"another spelling": vary(func(i *user.DefaultInfo) {
			i.Extra = map[string][]string{"Authentication.kubernetes.io/pod-name": {"p"}}
		}),
		"a user":           vary(func(i *user.DefaultInfo) { i.Name = "alice" }),
		"another user":     vary(func(i *user.DefaultInfo) { i.Name, i.Extra[serviceaccount.PodName] = "alice", []string{"q"} }),
		"a malformed name": vary(func(i *user.DefaultInfo) { i.Name = "system:serviceaccount:ns:a:b" }),
	}
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, Extras: IgnoreExtras}, func(t *testing.T, r *Reviews) {
		for name, caller := range callers {
			if got := outcome(r, t.Context(), podsOf(caller, "a")); got != "granted" || j.total() != 1 {
				t.Errorf("%s: got %s, want a review of its own", name, got)
			}
		}
	})
}

// A webhook that appears later is noticed by the next check. It ends the watches of the pod that it denies, and no
// others.
func TestWebhookEndsWatchesOfDeniedPodOnly(t *testing.T) {
	j, m := newJudge(), &scrapes{}
	detecting(t, j, m, func(t *testing.T, r *Reviews) {
		var watches []*WatchAuthorization
		for i := range 20 {
			watches = append(watches, hold(t, r, podsOf(podOf(agent, fmt.Sprint(i)), "a")))
		}
		if _, decisions := r.WatchAuthorizations(); decisions != 1 {
			t.Errorf("got %d decisions, want 1", decisions)
		}
		j.set(func() { j.status = webhookAgainst("7") })
		m.set(withWebhook, nil)
		<-time.After(detectInterval + 2*time.Second)
		synctest.Wait()
		for i, w := range watches {
			if got := hasEnded(w); got != (i == 7) {
				t.Errorf("pod %d: got an end %t", i, got)
			}
		}
		if _, decisions := r.WatchAuthorizations(); decisions != 19 {
			t.Errorf("got %d decisions, want 19", decisions)
		}
		for i, want := range map[int]string{7: "denied", 8: "granted"} {
			if got := outcome(r, t.Context(), podsOf(podOf(agent, fmt.Sprint(i)), "a")); got != want {
				t.Errorf("pod %d: got %s, want %s", i, got, want)
			}
		}
		for _, w := range watches {
			w.Release()
		}
	})
}

// When decisions are shared again, watches share their reviews again.
func TestWatchesShareAgainWithoutWebhook(t *testing.T) {
	j, m := newJudge(), &scrapes{}
	detecting(t, j, m, func(t *testing.T, r *Reviews) {
		m.set(withWebhook, nil)
		<-time.After(detectInterval + time.Second)
		one, two := hold(t, r, podsOf(podOf(agent, "1"), "a")), hold(t, r, podsOf(podOf(agent, "2"), "a"))
		if _, decisions := r.WatchAuthorizations(); decisions != 2 {
			t.Errorf("got %d decisions, want 2", decisions)
		}
		m.set(onlyRBAC, nil)
		<-time.After(detectInterval + time.Second)
		if _, decisions := r.WatchAuthorizations(); decisions != 1 {
			t.Errorf("got %d decisions, want 1", decisions)
		}
		for _, w := range []*WatchAuthorization{one, two} {
			if got, took := checkResult(t, w); got != "passes" || took > 0 {
				t.Errorf("got %s after %s, want passes immediately", got, took)
			}
			w.Release()
		}
	})
}

// An answer that RBAC alone cannot give ends sharing immediately, also for the requests that wait for that answer.
func TestAnswerByWebhookCountsForItsPodOnly(t *testing.T) {
	j := newJudge()
	detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
		answer := make(chan struct{})
		j.set(func() { j.wait, j.status = answer, webhookAgainst("0") })
		results := make([]string, 10)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() { results[i] = outcome(r, t.Context(), podsOf(podOf(agent, fmt.Sprint(i)), "a")) })
			synctest.Wait() // the first pod asks, the others wait
		}
		if n := j.count(agent); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
		j.set(func() { j.wait = nil })
		close(answer)
		all.Wait()
		for i, got := range results {
			if want := map[bool]string{true: "denied", false: "granted"}[i == 0]; got != want {
				t.Errorf("pod %d: got %s, want %s", i, got, want)
			}
		}
		if r.period() != 0 {
			t.Error("decisions are still shared")
		}
		<-time.After(othersFor - time.Minute)
		if r.period() != 0 {
			t.Error("decisions are shared again too early")
		}
		<-time.After(2 * time.Minute)
		if r.period() == 0 {
			t.Error("decisions are not shared again, although the metrics show no webhook")
		}
	})
}

// A shared answer that arrives after the end of sharing does not count.
func TestLateSharedAnswerDoesNotCount(t *testing.T) {
	j, m := newJudge(), &scrapes{}
	detecting(t, j, m, func(t *testing.T, r *Reviews) {
		answer := make(chan struct{})
		j.set(func() { j.wait = answer })
		var got string
		var asking sync.WaitGroup
		asking.Go(func() { got = outcome(r, t.Context(), podsOf(podOf(agent, "1"), "a")) })
		synctest.Wait()
		r.stopSharing("test")
		j.set(func() { j.wait, j.status = nil, webhookAgainst("1") })
		close(answer)
		asking.Wait()
		if n := j.count(agent); got != "denied" || n != 2 {
			t.Errorf("got %s after %d reviews, want denied after 2", got, n)
		}
	})
}

// Decisions are not shared while the metrics cannot be read, or are not those of kube-apiserver.
func TestUnreadableMetricsEndSharing(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		fail error
	}{"refused": {"", errors.New("403")}, "of another server": {"up 1\n", nil}} {
		t.Run(name, func(t *testing.T) {
			j, m := newJudge(), &scrapes{}
			detecting(t, j, m, func(t *testing.T, r *Reviews) {
				m.set(c.text, c.fail)
				<-time.After(detectInterval + time.Second)
				if r.period() == 0 {
					t.Error("one failure ended sharing")
				}
				<-time.After(maxDetectFailures * detectRetry)
				if r.period() != 0 {
					t.Error("decisions are still shared")
				}
				m.count()
				<-time.After(10 * time.Minute)
				if n := m.count(); n > 10*maxDetectFailures {
					t.Errorf("got %d scrapes in ten minutes", n)
				}
			})
		})
	}
}

// An outage of the upstream says nothing about its authorizers, but they are checked as soon as it answers.
func TestAuthorizersAreCheckedAfterOutage(t *testing.T) {
	for _, outage := range []time.Duration{18 * time.Second, 2 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			j, m := newJudge(), &scrapes{}
			detecting(t, j, m, func(t *testing.T, r *Reviews) {
				w := hold(t, r, podsOf(podOf(agent, "1"), "a"))
				<-time.After(20 * time.Second) // the next check would follow after a minute
				j.set(func() { j.fail = errors.New("connection refused") })
				<-time.After(outage)
				if n := m.count(); r.period() == 0 || n > 0 {
					t.Errorf("got %d scrapes and period %d, want decisions shared", n, r.period())
				}
				m.set(withWebhook, nil)
				j.set(func() { j.fail = nil })
				<-time.After(retryWatchReview + 2*detectRetry)
				if r.period() != 0 || hasEnded(w) {
					t.Error("the webhook was not noticed when the upstream answered")
				}
				w.Release()
			})
		})
	}
}

// Decisions are not shared for longer than two minutes without a check, even if nothing but checks is unanswered.
func TestUnansweredChecksEndSharing(t *testing.T) {
	j := newJudge()
	detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
		j.set(func() { j.fail = errors.New("connection refused") })
		<-time.After(2*detectInterval - 2*detectRetry)
		if r.period() == 0 {
			t.Error("sharing ended before a check was overdue for a minute")
		}
		<-time.After(4 * detectRetry)
		if r.period() != 0 {
			t.Error("decisions are shared without a check for two minutes")
		}
		j.set(func() { j.fail = nil })
		<-time.After(2 * detectRetry)
		if r.period() == 0 {
			t.Error("decisions are not shared after a check")
		}
	})
}

// Of a shared decision, the watches of a deleted pod and of an expired token end, and no others.
func TestSharedDecisionOutlivesItsTokens(t *testing.T) {
	j := newJudge()
	var gone sync.Map
	exists := func(info user.Info) bool {
		_, deleted := gone.Load(info.GetExtra()[serviceaccount.PodName][0])
		return !deleted
	}
	following(t, ReviewsConfig{Upstream: j, Extras: IgnoreExtras, Exists: exists}, func(t *testing.T, r *Reviews) {
		first, second := hold(t, r, podsOf(podOf(agent, "1"), "a")), hold(t, r, podsOf(podOf(agent, "2"), "a"))
		expiring := podOf(agent, "3")
		expiring.Until = time.Now().Add(time.Minute)
		third := hold(t, r, podsOf(expiring, "a"))
		gone.Store("1", true)
		<-time.After(2 * time.Second)
		if !hasEnded(first) || hasEnded(second) || hasEnded(third) {
			t.Errorf("deleted pod: got ends %t, %t, %t, want only the first", hasEnded(first), hasEnded(second), hasEnded(third))
		}
		<-time.After(time.Minute)
		if hasEnded(second) || !hasEnded(third) {
			t.Errorf("expired token: got ends %t, %t, want only the last", hasEnded(second), hasEnded(third))
		}
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		r.Lost(named(agent))
		if got, _ := checkResult(t, second); got != "revoked" {
			t.Errorf("lost permission: got %s, want revoked", got)
		}
	})
}

// Events that wait for a review go on waiting when decisions are shared no longer.
func TestPendingEventsWaitWhenSharingEnds(t *testing.T) {
	j, m := newJudge(), &scrapes{}
	detecting(t, j, m, func(t *testing.T, r *Reviews) {
		one, two := hold(t, r, podsOf(podOf(agent, "1"), "a")), hold(t, r, podsOf(podOf(agent, "2"), "a"))
		answer := make(chan struct{})
		j.set(func() { j.wait, j.status = answer, webhookAgainst("1") })
		r.Lost(named(agent))
		var results sync.Map
		var checks sync.WaitGroup
		for pod, w := range map[string]*WatchAuthorization{"1": one, "2": two} {
			checks.Go(func() {
				got, _ := checkResult(t, w)
				results.Store(pod, got)
			})
		}
		synctest.Wait()
		r.stopSharing("test")
		synctest.Wait()
		results.Range(func(pod, got any) bool {
			t.Errorf("pod %s: got %s before the review", pod, got)
			return true
		})
		close(answer)
		checks.Wait()
		for pod, want := range map[string]string{"1": "revoked", "2": "passes"} {
			if got, _ := results.Load(pod); got != want {
				t.Errorf("pod %s: got %s, want %s", pod, got, want)
			}
		}
		two.Release()
	})
}

// When sharing ends just after a change of permissions, the upstream still has time to see the change before the
// review.
func TestReviewAfterChangeIsDelayedWhenSharingEnds(t *testing.T) {
	j := newJudge()
	detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
		w := hold(t, r, podsOf(podOf(agent, "1"), "a"))
		r.Lost(named(agent))
		r.stopSharing("test")
		if got, took := checkResult(t, w); got != "passes" || took < r.config.Watches.Debounce {
			t.Errorf("got %s after %s, want a review after %s", got, took, r.config.Watches.Debounce)
		}
		w.Release()
	})
}

// A decision of an earlier period of sharing does not count in a later one.
func TestDecisionsOfEndedPeriodDoNotReturn(t *testing.T) {
	j := newJudge()
	detecting(t, j, &scrapes{}, func(t *testing.T, r *Reviews) {
		for range 3 {
			_ = outcome(r, t.Context(), podsOf(podOf(agent, "1"), "a"))
			r.stopSharing("test")
			r.share()
		}
		if n := j.count(agent); n != 3 {
			t.Errorf("got %d reviews, want 3", n)
		}
	})
}

// A pod above its pace waits alone: another pod with the same question is answered at once, and its answer counts for
// both.
func TestPaceOfOnePodDelaysNoOtherPod(t *testing.T) {
	j := newJudge()
	config := ReviewsConfig{Upstream: j, Extras: IgnoreExtras, ShareRate: limit.Rate{PerSecond: 1, Burst: 1}}
	following(t, config, func(t *testing.T, r *Reviews) {
		greedy, modest, began := podOf(agent, "1"), podOf(agent, "2"), time.Now()
		ask := func(caller *Caller, namespace string) (after time.Duration) {
			if got := outcome(r, t.Context(), podsOf(caller, namespace)); got != "granted" {
				t.Errorf("got %s, want granted", got)
			}
			return time.Since(began)
		}
		ask(greedy, "others")
		waited := make(chan time.Duration, 1)
		go func() { waited <- ask(greedy, "a") }()
		synctest.Wait()
		if n := r.Paced(); n != 1 {
			t.Errorf("got %d questions that wait, want 1", n)
		}
		if took := ask(modest, "a"); took > 0 {
			t.Errorf("the modest pod waited for %s, want no wait", took)
		}
		if took, n := <-waited, j.count(agent); took != time.Second || n != 2 {
			t.Errorf("the greedy pod waited for %s, and %d reviews were sent, want 1s and 2", took, n)
		}
	})
}

// Pods join a review that is under way even if their own pace permits none, and are not charged for it.
func TestJoiningAReviewCostsNothing(t *testing.T) {
	j := newJudge()
	config := ReviewsConfig{Upstream: j, Extras: IgnoreExtras, ShareRate: limit.Rate{PerSecond: 0.01, Burst: 1}}
	following(t, config, func(t *testing.T, r *Reviews) {
		answer := make(chan struct{})
		j.set(func() { j.wait = answer })
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if got := outcome(r, t.Context(), podsOf(podOf(agent, fmt.Sprint(i)), "a")); got != "granted" {
					t.Errorf("got %s, want granted", got)
				}
			})
		}
		synctest.Wait()
		if n := r.Paced(); n != 0 { // their namespace may ask ten questions at once
			t.Errorf("got %d questions that wait, want none", n)
		}
		close(answer)
		all.Wait()
		if n := len(r.underWay); n != 0 || j.count(agent) != 1 {
			t.Errorf("got %d reviews, %d of them under way, want one that ended", j.count(agent), n)
		}
	})
}

// A watch that moves to another decision while its event is checked lets no event pass.
func TestPendingEventsWaitWhileWatchesMove(t *testing.T) {
	r := NewReviews(ReviewsConfig{Upstream: newJudge(), Extras: DetectExtras}) // not running, so the watch stays pending
	w := r.AuthorizeWatch(podsOf(podOf(agent, "1"), "a"))
	defer w.Release()
	for _, move := range []func(){r.share, func() { r.stopSharing("test") }} {
		before := w.decision.Load()
		move()
		if before.pending.Load() != nil || w.decision.Load().pending.Load() == nil {
			t.Error("the watch has not moved, or is pending no longer")
		}
		if w.isConfirmedBy(before) {
			t.Error("an event that was checked during the move passes before a review")
		}
	}
}

// When sharing begins or ends, events that wait go on waiting from the time of the change of permissions: at most
// maxPendingWait, and at most Hold after a failed review.
func TestSharingDoesNotRestartTheWaitOfEvents(t *testing.T) {
	for name, failed := range map[string]bool{"no review was sent": false, "a review failed": true} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				r := NewReviews(ReviewsConfig{Upstream: newJudge(), Extras: DetectExtras}) // not running: sends no review
				w := r.AuthorizeWatch(podsOf(podOf(agent, "1"), "a"))
				defer w.Release()
				w.decision.Load().pending.Load().failed.Store(failed)
				go func() {
					for range 4 {
						<-time.After(time.Second)
						r.share()
						<-time.After(time.Second)
						r.stopSharing("test")
					}
				}()
				want := map[bool]time.Duration{true: r.config.Watches.Hold, false: maxPendingWait}[failed]
				if got, took := checkResult(t, w); got != "passes" || took != want {
					t.Errorf("got %s after %s, want passes after %s", got, took, want)
				}
				<-time.After(maxPendingWait) // until the goroutine has ended
			})
		})
	}
}

// A pod whose question joined that of a pod above its limit asks by itself.
func TestLimitOfOnePodAffectsNoOtherPod(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, Extras: IgnoreExtras}, func(t *testing.T, r *Reviews) {
		greedy, modest := podOf(agent, "1"), podOf(agent, "2")
		limited := make(chan struct{})
		r.mu.Lock()
		key := r.flightOf(newQuestion(podsOf(greedy, "a"), r.period()))
		r.underWay[key] = struct{}{}
		r.flight.DoChan(key, func() (any, error) {
			defer r.finish(key, nil)
			<-limited
			return nil, &BusyError{After: time.Second, share: greedy.Share()}
		})
		r.mu.Unlock()
		results := map[*Caller]string{}
		var all sync.WaitGroup
		for _, caller := range []*Caller{greedy, modest} {
			all.Go(func() {
				got := outcome(r, t.Context(), podsOf(caller, "a"))
				r.mu.Lock()
				defer r.mu.Unlock()
				results[caller] = got
			})
		}
		synctest.Wait()
		close(limited)
		all.Wait()
		if results[greedy] != "busy" || results[modest] != "granted" || j.count(agent) != 1 {
			t.Errorf("got %s and %s, want busy and granted", results[greedy], results[modest])
		}
	})
}

// Requests, watches and changes of the state at the same time leave no shared decision behind.
func TestSharingChangesDuringRequests(t *testing.T) {
	j := newJudge()
	j.status = webhookAgainst("0")
	unlimited := limit.Rate{PerSecond: 1e6, Burst: 1e6}
	r := NewReviews(ReviewsConfig{Upstream: j, Extras: DetectExtras, ShareRate: unlimited,
		AllowedTTL: time.Nanosecond, DeniedTTL: time.Nanosecond})
	ctx, stop := context.WithCancel(t.Context())
	wants := map[string]string{"0": "denied", "1": "granted", "2": "granted"}
	var all sync.WaitGroup
	for pod := range wants {
		all.Go(func() {
			for ctx.Err() == nil {
				a := podsOf(podOf(agent, pod), "a")
				w := r.AuthorizeWatch(a)
				_ = outcome(r, t.Context(), a)
				w.Release()
			}
		})
	}
	for range 200 {
		r.mu.Lock()
		r.sharing.others = time.Time{}
		r.mu.Unlock()
		r.share()
		r.stopSharing("test")
	}
	stop()
	all.Wait()
	for pod, want := range wants {
		if got := outcome(r, t.Context(), podsOf(podOf(agent, pod), "a")); got != want {
			t.Errorf("pod %s: got %s, want %s", pod, got, want)
		}
	}
	if watches, decisions := r.WatchAuthorizations(); watches != 0 || decisions != 0 || len(r.watches.holders) != 0 {
		t.Errorf("got %d watches, %d decisions and %d holders, want none", watches, decisions, len(r.watches.holders))
	}
}
