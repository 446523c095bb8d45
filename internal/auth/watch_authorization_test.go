package auth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// following runs a test with Reviews.Run in a synctest bubble.
func following(t *testing.T, config ReviewsConfig, test func(*testing.T, *Reviews)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := NewReviews(config)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // a goroutine that remains in the bubble fails the test
		go r.Run(ctx)
		test(t, r)
		r.mu.Lock()
		defer r.mu.Unlock()
		if held := r.watches.decisions; len(held) != 0 || r.watches.count != 0 || len(r.watches.schedule.later) != 0 {
			t.Errorf("got %d decisions, %d watches and %d scheduled reviews, want none", len(held), r.watches.count, len(r.watches.schedule.later))
		}
	})
}

// hold authorizes a request and returns its watch authorization.
func hold(t *testing.T, r *Reviews, a Attributes) *WatchAuthorization {
	t.Helper()
	if got := outcome(r, t.Context(), a); got != "granted" {
		t.Fatal(got)
	}
	return r.AuthorizeWatch(a)
}

func hasEnded(w *WatchAuthorization) bool {
	select {
	case <-w.Ended():
		return true
	default:
		return false
	}
}

// checkResult calls Check and returns its result and duration.
func checkResult(t *testing.T, w *WatchAuthorization) (string, time.Duration) {
	t.Helper()
	began := time.Now()
	switch err := w.Check(t.Context()); {
	case err == nil:
		return "passes", time.Since(began)
	case errors.Is(err, ErrRevoked) && hasEnded(w):
		return "revoked", time.Since(began)
	default:
		return err.Error(), time.Since(began)
	}
}

func TestZeroWatchAuthorizationNeverEnds(t *testing.T) {
	w := &WatchAuthorization{}
	w.Release()
	if err := w.Check(t.Context()); err != nil || w.Ended() != nil {
		t.Errorf("got %v, want a watch authorization that never ends", err)
	}
}

// Watches with the same decision share periodic reviews. There are no reviews after they end.
func TestWatchesShareReviews(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		alice := person("alice")
		watches := make([]*WatchAuthorization, 3000)
		for i := range watches {
			watches[i] = hold(t, r, podsOf(alice, fmt.Sprint(i%30)))
		}
		if watches, decisions := r.WatchAuthorizations(); watches != 3000 || decisions != 30 {
			t.Errorf("got %d watches and %d decisions, want 3000 and 30", watches, decisions)
		}
		j.total()
		<-time.After(10 * time.Minute)
		if n := j.total(); n < 30*15 || n > 30*26 {
			t.Errorf("got %d reviews in ten minutes, want from 450 to 780", n)
		}
		for _, w := range watches {
			if got, took := checkResult(t, w); got != "passes" || took > 0 {
				t.Fatalf("got %s after %s, want passes immediately", got, took)
			}
			w.Release()
			w.Release()
		}
		<-time.After(10 * time.Minute)
		if n := j.total(); n != 0 {
			t.Errorf("got %d reviews without a watch, want none", n)
		}
	})
}

// A periodic review finds a lost permission that no event reports.
func TestPeriodicReviewEndsWatch(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		alice, bob := hold(t, r, podsOf(person("alice"), "a")), hold(t, r, podsOf(person("bob"), "a"))
		<-time.After(5 * time.Minute)
		j.set(func() { j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "bob" } })
		<-time.After(36 * time.Second)
		synctest.Wait()
		if got, _ := checkResult(t, alice); got != "revoked" {
			t.Errorf("got %s, want revoked", got)
		}
		if got, _ := checkResult(t, bob); got != "passes" || hasEnded(bob) {
			t.Errorf("another user: got %s, want passes", got)
		}
		alice.Release()
		bob.Release()
	})
}

// A refused request ends the watches with the same decision.
func TestRefusedRequestEndsWatch(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		w := hold(t, r, a)
		<-time.After(11 * time.Second)
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := outcome(r, t.Context(), a); got != "denied" || !hasEnded(w) {
			t.Errorf("got %s, want denied and the watch ended", got)
		}
	})
}

// After a permission is lost, no event passes before a review.
func TestNoEventPassesAfterLossBeforeReview(t *testing.T) {
	for name, c := range map[string]struct {
		allow bool
		want  string
	}{"taken": {false, "revoked"}, "left": {true, "passes"}} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
				alice, bob := hold(t, r, podsOf(person("alice"), "a")), hold(t, r, podsOf(person("bob"), "a"))
				defer alice.Release()
				defer bob.Release()
				<-time.After(time.Second)
				j.total()
				answer := make(chan struct{})
				j.set(func() {
					j.wait = answer
					j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return c.allow || s.User == "bob" }
				})
				r.Lost(named("alice"))
				go func() { <-time.After(400 * time.Millisecond); j.set(func() { j.wait = nil }); close(answer) }()
				if got, took := checkResult(t, bob); got != "passes" || took > 0 {
					t.Errorf("another user: got %s after %s, want passes immediately", got, took)
				}
				if got, took := checkResult(t, alice); got != c.want || took != 400*time.Millisecond {
					t.Errorf("got %s after %s, want %s after 400ms", got, took, c.want)
				}
				if ago := time.Since(j.last()); ago != 300*time.Millisecond {
					t.Errorf("got the review %s ago, want 300ms, after the debounce", ago)
				}
				if got, took := checkResult(t, alice); got != c.want || took > 0 {
					t.Errorf("the next event: got %s after %s, want %s immediately", got, took, c.want)
				}
				<-time.After(2 * time.Second)
				synctest.Wait()
				want := map[bool]int{true: 2, false: 1}[c.allow] // with the second review
				if a, b := j.count("alice"), j.count("bob"); a != want || b != 0 {
					t.Errorf("got %d reviews of the affected user and %d of the other", a, b)
				}
			})
		})
	}
}

// A change in a namespace delays no event of watches in other namespaces, over all namespaces, or without a namespace,
// and causes no review of them.
func TestChangeInNamespaceAffectsItsWatchesOnly(t *testing.T) {
	j := newJudge()
	config := ReviewsConfig{Upstream: j, Watches: WatchAuthorizationConfig{Every: time.Hour}}
	following(t, config, func(t *testing.T, r *Reviews) {
		alice := person("alice", "system:authenticated")
		node := Attributes{Caller: alice, Verb: "watch", Version: "v1", Resource: "nodes"}
		here := hold(t, r, podsOf(alice, "a"))
		others := []*WatchAuthorization{hold(t, r, podsOf(alice, "b")), hold(t, r, podsOf(alice, "")), hold(t, r, node)}
		var reviewed []string
		j.set(func() {
			j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				reviewed = append(reviewed, s.ResourceAttributes.Namespace)
				return false
			}
		})
		r.Lost(Affected{"a": func(user.Info) bool { return true }})
		for i, w := range others {
			if got, took := checkResult(t, w); got != "passes" || took > 0 {
				t.Errorf("watch %d elsewhere: got %s after %s, want passes immediately", i, got, took)
			}
		}
		if got, took := checkResult(t, here); got != "revoked" || took != r.config.Watches.Debounce {
			t.Errorf("got %s after %s, want revoked after %s", got, took, r.config.Watches.Debounce)
		}
		<-time.After(2 * r.config.Watches.SecondLook)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a"}, reviewed); diff != "" {
			t.Errorf("reviewed namespaces: %s", diff)
		}
		r.Lost(named("alice"))
		for i, w := range others {
			if got, _ := checkResult(t, w); got != "revoked" {
				t.Errorf("watch %d after a change in the cluster: got %s, want revoked", i, got)
			}
		}
	})
}

// If the upstream saw a change late, a second review finds it, and no event waits for that review.
func TestSecondReviewFindsLateChange(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		w := hold(t, r, a)
		r.Lost(named("alice"))
		if got, took := checkResult(t, w); got != "passes" || took != 100*time.Millisecond {
			t.Errorf("got %s after %s, want passes after 100ms", got, took)
		}
		if got := outcome(r, t.Context(), a); got != "granted" {
			t.Errorf("got %s, want granted", got)
		}
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		<-time.After(1800 * time.Millisecond)
		if got, took := checkResult(t, w); got != "passes" || took > 0 {
			t.Errorf("got %s after %s, want passes immediately", got, took)
		}
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		if !hasEnded(w) {
			t.Error("got a running watch after the second review, want it ended")
		}
		if got := outcome(r, t.Context(), a); got != "denied" {
			t.Errorf("got %s after the second review, want denied", got)
		}
	})
}

// An answer to a review from before the change does not end the pending authorization.
func TestEarlierAnswerDoesNotEndPendingAuthorization(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, Watches: WatchAuthorizationConfig{SecondLook: time.Hour}}, func(t *testing.T, r *Reviews) {
		w := hold(t, r, podsOf(person("alice"), "a"))
		before, after := make(chan struct{}), make(chan struct{})
		j.total()
		j.set(func() { j.wait = before })
		for j.total() == 0 { // until the periodic review is under way
			<-time.After(100 * time.Millisecond)
		}
		j.set(func() {
			j.wait = after
			j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false }
		})
		r.Lost(named("alice"))
		close(before)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if err := w.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a wait until the deadline", err)
		}
		close(after)
		if got, _ := checkResult(t, w); got != "revoked" {
			t.Errorf("got %s, want revoked", got)
		}
	})
}

// When permissions change during every review, events wait for a limited time, and a refusal ends the watch.
func TestContinualChangesDoNotDelayEventsForever(t *testing.T) {
	for name, c := range map[string]struct {
		allow bool
		want  error
		most  time.Duration
	}{"left": {true, nil, maxPendingWait}, "taken": {false, ErrRevoked, time.Second}} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			following(t, ReviewsConfig{Upstream: newSlow(j, 4, 20*time.Millisecond)}, func(t *testing.T, r *Reviews) {
				w := hold(t, r, podsOf(person("alice"), "a"))
				defer w.Release()
				j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return c.allow } })
				ctx, cancel := context.WithTimeout(t.Context(), 2*maxPendingWait)
				var changes sync.WaitGroup
				defer changes.Wait()
				defer cancel()
				r.Lost(named("alice"))
				changes.Go(func() {
					for ctx.Err() == nil {
						<-time.After(10 * time.Millisecond)
						r.Lost(named("alice"))
					}
				})
				began := time.Now()
				if err := w.Check(ctx); !errors.Is(err, c.want) || time.Since(began) > c.most {
					t.Errorf("got %v after %s, want %v after at most %s", err, time.Since(began), c.want, c.most)
				}
			})
		})
	}
}

// A refusal that ends a watch also drops a cached permission, even if permissions were gained during the review.
func TestRefusalDropsPermissionDespiteGain(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, AllowedTTL: time.Hour}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		w := hold(t, r, a)
		defer w.Release()
		if got := outcome(r, t.Context(), a); got != "granted" {
			t.Fatal(got)
		}
		wait := make(chan struct{})
		j.total()
		j.set(func() { j.wait, j.allow = wait, func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		for j.total() == 0 { // until the periodic review is under way
			<-time.After(time.Second)
		}
		r.Gained(named("alice"))
		close(wait)
		synctest.Wait()
		if !hasEnded(w) {
			t.Error("got a watch that continues after a refusal")
		}
		if got := outcome(r, t.Context(), a); got != "denied" {
			t.Errorf("got %s after the refusal, want denied", got)
		}
	})
}

// A permission that is lost between Authorize and Hold is reviewed before the first event.
func TestLossBeforeHoldIsReviewedFirst(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		if got := outcome(r, t.Context(), a); got != "granted" {
			t.Fatal(got)
		}
		r.Lost(named("alice"))
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		w := r.AuthorizeWatch(a)
		if got, _ := checkResult(t, w); got != "revoked" {
			t.Errorf("got %s, want revoked", got)
		}
	})
}

// In an outage, events wait for five seconds, and watches last for five to six minutes.
func TestWatchesLastThroughShortOutage(t *testing.T) {
	for name, fail := range map[string]func(*judge){
		"down":    func(j *judge) { j.fail = syscall.ECONNREFUSED },
		"500":     func(j *judge) { j.code = 500 },
		"invalid": func(j *judge) { j.code = 422 },
		"refused": func(j *judge) { j.code = 403 },
		"hanging": func(j *judge) { j.wait = make(chan struct{}) },
	} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", lost: ", lost), func(t *testing.T) {
				j := newJudge()
				following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
					w := hold(t, r, podsOf(person("alice"), "a"))
					short := hold(t, r, podsOf(person("bob"), "a"))
					j.set(func() { fail(j) })
					if lost {
						r.Lost(named("alice"))
						if got, took := checkResult(t, w); got != "passes" || took < 5*time.Second || took > 7*time.Second {
							t.Errorf("got %s after %s, want passes after 5s to 7s", got, took)
						}
					}
					j.total()
					<-time.After(time.Minute)
					if got, took := checkResult(t, w); got != "passes" || took > 0 {
						t.Errorf("a later event: got %s after %s, want passes immediately", got, took)
					}
					// Alice's review is repeated each second: at most 61 times. Bob's begins at the earliest 24 s after his
					// watch, which is 19 s into the minute, and is repeated every ten seconds: at most 5 times.
					if n := j.total(); n > 66 {
						t.Errorf("got %d reviews in a minute, want 66 at most", n)
					}
					<-time.After(4*time.Minute - 10*time.Second)
					if hasEnded(w) || hasEnded(short) {
						t.Error("got the watch ended within five minutes")
					}
					short.Release()
					<-time.After(2 * time.Minute)
					if got, _ := checkResult(t, w); got != "revoked" {
						t.Errorf("after seven minutes: got %s, want revoked", got)
					}
				})
			})
		}
	}
}

// In an outage, reviews for any number of watches probe the upstream once a second. All watches are reviewed
// afterwards.
func TestWatchReviewsProbeOncePerSecondInAnOutage(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		var watches []*WatchAuthorization
		for i := range 1000 {
			a := podsOf(person(fmt.Sprint("user", i)), "a")
			allow(r, a)
			watches = append(watches, r.AuthorizeWatch(a))
		}
		<-time.After(time.Minute)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		<-time.After(time.Minute)
		r.Lost(Affected{"": func(user.Info) bool { return true }})
		<-time.After(2 * time.Minute)
		j.total()
		<-time.After(time.Minute)
		if n := j.total(); n < 55 || n > 65 {
			t.Errorf("got %d reviews in a minute, want about 60", n)
		}
		j.set(func() { j.fail = nil })
		<-time.After(10 * time.Second)
		j.set(func() {
			if len(j.asked) < 1000 {
				t.Errorf("got reviews of %d users, want all 1000", len(j.asked))
			}
		})
		for _, w := range watches {
			if got, took := checkResult(t, w); got != "passes" || took > 0 {
				t.Fatalf("got %s after %s, want passes immediately", got, took)
			}
			w.Release()
		}
	})
}

// After Lost returns, Check of any goroutine lets no event pass before the review.
func TestConcurrentCheckLetsNoEventPassAfterLoss(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		for i := range 50 {
			j.set(func() { j.allow = nil })
			w := hold(t, r, podsOf(person("alice"), fmt.Sprint(i)))
			j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
			var (
				lost atomic.Bool
				wait sync.WaitGroup
			)
			for range 8 {
				wait.Go(func() {
					for {
						known := lost.Load()
						switch err := w.Check(t.Context()); {
						case err != nil:
							return
						case known:
							t.Error("got an event after Lost returned, want none before a review")
							return
						}
						runtime.Gosched()
					}
				})
			}
			r.Lost(named("alice"))
			lost.Store(true)
			wait.Wait()
			<-time.After(5 * time.Second) // after the second review
		}
	})
}

// tally is an Observer that counts events.
type tally struct {
	mu  sync.Mutex // guards all
	all map[string]int
}

func (t *tally) note(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[what]++
}

// Decided implements Observer.
func (t *tally) Decided(o Outcome) { t.note(string(o)) }

// Reviewed implements Observer.
func (t *tally) Reviewed(purpose Purpose, _ time.Duration, err error) {
	t.note(fmt.Sprintf("%s, answered: %t", purpose, err == nil))
}

// WatchAuthorizationEnded implements Observer.
func (t *tally) WatchAuthorizationEnded(why Ending) { t.note("ended: " + string(why)) }

// SharingChanged implements Observer.
func (*tally) SharingChanged(Sharing) {}

func TestObserverCountsReviewsAndEndings(t *testing.T) {
	j, seen := newJudge(), &tally{all: map[string]int{}}
	config := ReviewsConfig{Upstream: j, Observer: seen, ShareRate: limit.Rate{PerSecond: 0.01, Burst: 3}, Watches: WatchAuthorizationConfig{Every: time.Hour}}
	following(t, config, func(t *testing.T, r *Reviews) {
		alice := podsOf(person("alice"), "a")
		released, w := hold(t, r, alice), hold(t, r, alice)
		released.Release()
		_ = outcome(r, t.Context(), Attributes{Caller: alice.Caller, Verb: "get", Path: "/readyz"})
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		for range 2 {
			_ = outcome(r, t.Context(), podsOf(alice.Caller, "b"))
		}
		r.Lost(named("alice"))
		_, _ = checkResult(t, w)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		_, _ = outcome(r, t.Context(), podsOf(alice.Caller, "c")), outcome(r, t.Context(), podsOf(alice.Caller, "d"))
		left, leave := context.WithCancel(t.Context())
		leave()
		answer := make(chan struct{})
		j.set(func() { j.wait = answer }) // the request ends before the answer
		_ = outcome(r, left, podsOf(person("bob"), "a"))
		close(answer)
		synctest.Wait()
		want := map[string]int{
			"allowed": 1, "allowed_cached": 1, "not_reviewed": 1, "denied": 1, "denied_cached": 1, "unavailable": 1, "busy": 1, "left": 1,
			"request, answered: true": 2, "request, answered: false": 2, "watch, answered: true": 1, "ended: revoked": 1,
		}
		if diff := cmp.Diff(want, seen.all); diff != "" {
			t.Error(diff)
		}
	})
}

// Outages with answers between them do not add up to ErrorGrace.
func TestOutagesDoNotAddUp(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		w := hold(t, r, podsOf(person("alice"), "a"))
		for range 10 {
			j.set(func() { j.fail = syscall.ECONNREFUSED })
			<-time.After(4 * time.Minute)
			j.set(func() { j.fail = nil })
			<-time.After(time.Minute)
		}
		if hasEnded(w) {
			t.Error("got the watch ended, want it running")
		}
		w.Release()
	})
}

func TestWatchEndsWithItsCredential(t *testing.T) {
	following(t, ReviewsConfig{Upstream: newJudge()}, func(t *testing.T, r *Reviews) {
		caller := NewCaller(&user.DefaultInfo{Name: "alice"}, ByToken, time.Now().Add(time.Minute))
		w, released := hold(t, r, podsOf(caller, "a")), hold(t, r, podsOf(caller, "a"))
		released.Release()
		<-time.After(time.Minute - time.Millisecond)
		if hasEnded(w) {
			t.Error("got the watch ended before its credential")
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if got, _ := checkResult(t, w); got != "revoked" || hasEnded(released) {
			t.Errorf("got %s, want revoked", got)
		}
		if late := r.AuthorizeWatch(podsOf(caller, "a")); !hasEnded(late) {
			t.Error("got a watch with an expired credential")
		}
	})
}

func TestWatchEndsWithItsIdentity(t *testing.T) {
	var gone atomic.Bool
	exists := func(caller user.Info) bool { return !gone.Load() || caller.GetName() != "alice" }
	following(t, ReviewsConfig{Upstream: newJudge(), Exists: exists, AlwaysAllowGroups: []string{"rescue"}}, func(t *testing.T, r *Reviews) {
		alice, trusted := hold(t, r, podsOf(person("alice"), "a")), hold(t, r, podsOf(person("alice", "rescue"), "a"))
		bob := hold(t, r, podsOf(person("bob"), "a"))
		<-time.After(time.Minute + time.Millisecond)
		gone.Store(true) // for one check only
		<-time.After(existenceInterval)
		gone.Store(false)
		<-time.After(existenceInterval)
		gone.Store(true)
		<-time.After(existenceInterval)
		synctest.Wait()
		if hasEnded(alice) {
			t.Error("got the watch ended by one missed lookup, want two")
		}
		<-time.After(existenceInterval)
		synctest.Wait()
		if !hasEnded(alice) || !hasEnded(trusted) || hasEnded(bob) {
			t.Errorf("got ended %t and %t, another user %t; want true, true, false", hasEnded(alice), hasEnded(trusted), hasEnded(bob))
		}
		bob.Release()
	})
}

// A deleted caller's decisions are dropped in all namespaces, also those that no watch depends on.
func TestDecisionsOfDeletedIdentityAreDropped(t *testing.T) {
	var gone atomic.Bool
	exists := func(caller user.Info) bool { return !gone.Load() || caller.GetName() != "alice" }
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, Exists: exists, AllowedTTL: time.Hour}, func(t *testing.T, r *Reviews) {
		w, bob := hold(t, r, podsOf(person("alice"), "a")), podsOf(person("bob"), "b")
		places := []Attributes{podsOf(person("alice"), "a"), podsOf(person("alice"), "b"), podsOf(person("alice"), ""), bob}
		for _, a := range places {
			_ = outcome(r, t.Context(), a)
		}
		gone.Store(true)
		<-time.After(3 * existenceInterval)
		synctest.Wait()
		if !hasEnded(w) {
			t.Fatal("got a running watch of a deleted caller")
		}
		j.total()
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		for i, a := range places {
			want := map[bool]string{true: "granted", false: "denied"}[a.Caller == bob.Caller]
			if got := outcome(r, t.Context(), a); got != want {
				t.Errorf("question %d: got %s, want %s", i, got, want)
			}
		}
		if alice, bob := j.count("alice"), j.count("bob"); alice != 3 || bob != 0 {
			t.Errorf("got %d reviews of the deleted caller and %d of the other, want 3 and 0", alice, bob)
		}
	})
}

// The watches of many kubelets cost the configured rate of reviews, and none is reviewed twice in a round. If one
// kubelet loses a permission, only its decisions are reviewed, immediately.
func TestReviewsOfManyWatchesKeepTheirRate(t *testing.T) {
	const perNode = 5
	nodes, seconds := settings.Amount(600, 5000), settings.Amount(50, 180) // a round takes longer
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		var watches []*WatchAuthorization
		for i := range nodes {
			node := person(fmt.Sprint("system:node:n", i), "system:nodes")
			for k := range perNode {
				a := podsOf(node, fmt.Sprint(k))
				allow(r, a)
				watches = append(watches, r.AuthorizeWatch(a))
			}
		}
		reviewed, all := map[string]bool{}, 0
		j.set(func() {
			j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				reviewed[s.User+s.ResourceAttributes.Namespace] = true
				return true
			}
		})
		for range seconds {
			<-time.After(time.Second)
			n := j.total()
			if all += n; n > 51 {
				t.Fatalf("got %d reviews in a second, want 51 at most", n)
			}
		}
		j.set(func() { j.allow = nil })
		if all < 50*(seconds-30) || len(reviewed) != all {
			t.Errorf("got %d reviews of %d decisions, want one each", all, len(reviewed))
		}
		r.Lost(named("system:node:n7"))
		for _, w := range watches[7*perNode : 8*perNode] {
			if got, took := checkResult(t, w); got != "passes" || took > 200*time.Millisecond {
				t.Errorf("got %s after %s, want passes within 200ms", got, took)
			}
		}
		if one, all := j.count("system:node:n7"), j.total(); one < perNode || one > perNode+1 || all > 12 {
			t.Errorf("got %d reviews of the affected node, %d of others", one, all)
		}
		for _, w := range watches {
			w.Release()
		}
	})
}

// When the permissions of all users may have changed, reviews with waiting events go first.
func TestReviewsWithWaitingEventsGoFirst(t *testing.T) {
	all := settings.Amount(3000, 10_000)
	upstream := newSlow(newJudge(), 4, 10*time.Millisecond) // 7.5 s for 3,000
	following(t, ReviewsConfig{Upstream: upstream}, func(t *testing.T, r *Reviews) {
		var watches []*WatchAuthorization
		for i := range all {
			a := podsOf(person(fmt.Sprint("user", i)), "a")
			allow(r, a)
			watches = append(watches, r.AuthorizeWatch(a))
		}
		r.Lost(Affected{"": func(user.Info) bool { return true }})
		<-time.After(time.Second)
		for _, w := range watches[all-500 : all-400] {
			if got, took := checkResult(t, w); got != "passes" || took > 200*time.Millisecond {
				t.Fatalf("got %s after %s, want passes within 200ms", got, took)
			}
		}
		for _, w := range watches {
			w.Release()
		}
	})
}

func BenchmarkWatchCheck(b *testing.B) {
	r := NewReviews(ReviewsConfig{Upstream: newJudge(), AllowedTTL: time.Hour})
	a := podsOf(person("alice"), "a")
	if _, err := r.Authorize(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	w := r.AuthorizeWatch(a)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Check(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
