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

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// following runs reviews in a bubble until the test's end.
func following(t *testing.T, config ReviewsConfig, test func(*testing.T, *Reviews)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := NewReviews(config)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // whatever is left in the bubble fails the test
		go r.Run(ctx)
		test(t, r)
		r.mu.Lock()
		defer r.mu.Unlock()
		if held := r.watches.decisions; len(held) != 0 || r.watches.count != 0 || len(r.watches.schedule.later) != 0 {
			t.Errorf("%d decisions, %d leases, %d times are left", len(held), r.watches.count, len(r.watches.schedule.later))
		}
	})
}

// hold holds a lease on what was granted.
func hold(t *testing.T, r *Reviews, a Attributes) *WatchAuthorization {
	t.Helper()
	if got := how(r, t.Context(), a); got != "granted" {
		t.Fatal(got)
	}
	return r.Hold(a)
}

func isEnded(l *WatchAuthorization) bool {
	select {
	case <-l.Ended():
		return true
	default:
		return false
	}
}

// passes is what Check says, and after how long.
func passes(t *testing.T, l *WatchAuthorization) (string, time.Duration) {
	t.Helper()
	began := time.Now()
	switch err := l.Check(t.Context()); {
	case err == nil:
		return "passes", time.Since(began)
	case errors.Is(err, ErrRevoked) && isEnded(l):
		return "revoked", time.Since(began)
	default:
		return err.Error(), time.Since(began)
	}
}

func TestZeroLease(t *testing.T) {
	l := &WatchAuthorization{}
	l.Release()
	if err := l.Check(t.Context()); err != nil || l.Ended() != nil {
		t.Errorf("it ends: %v", err)
	}
}

// Watches of the same decision are one review, again and again, and none when they have ended.
func TestLeasesShareReviews(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		alice := person("alice")
		leases := make([]*WatchAuthorization, 3000)
		for i := range leases {
			leases[i] = hold(t, r, podsOf(alice, fmt.Sprint(i%30)))
		}
		if leases, decisions := r.Held(); leases != 3000 || decisions != 30 {
			t.Errorf("%d leases on %d decisions", leases, decisions)
		}
		j.total()
		<-time.After(10 * time.Minute)
		if n := j.total(); n < 30*15 || n > 30*26 {
			t.Errorf("%d reviews in ten minutes", n)
		}
		for _, l := range leases {
			if got, took := passes(t, l); got != "passes" || took > 0 {
				t.Fatalf("%s after %s", got, took)
			}
			l.Release()
			l.Release()
		}
		<-time.After(10 * time.Minute)
		if n := j.total(); n != 0 {
			t.Errorf("%d reviews for nobody", n)
		}
	})
}

// What nothing tells of is found out with the next review.
func TestLeasesAreReviewed(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		alice, bob := hold(t, r, podsOf(person("alice"), "a")), hold(t, r, podsOf(person("bob"), "a"))
		<-time.After(5 * time.Minute)
		j.set(func() { j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "bob" } })
		<-time.After(36 * time.Second)
		synctest.Wait()
		if got, _ := passes(t, alice); got != "revoked" {
			t.Error(got)
		}
		if got, _ := passes(t, bob); got != "passes" || isEnded(bob) {
			t.Errorf("another's %s", got)
		}
		alice.Release()
		bob.Release()
	})
}

// Whoever finds out that a right is gone, all know it.
func TestRequestsEndLeases(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		l := hold(t, r, a)
		<-time.After(11 * time.Second)
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := how(r, t.Context(), a); got != "denied" || !isEnded(l) {
			t.Errorf("%s, and the lease goes on", got)
		}
	})
}

// After a right was lost, not one event passes before the upstream has said that it may.
func TestRevocation(t *testing.T) {
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
				if got, took := passes(t, bob); got != "passes" || took > 0 {
					t.Errorf("an event of another %s after %s", got, took)
				}
				if got, took := passes(t, alice); got != c.want || took != 400*time.Millisecond {
					t.Errorf("an event %s after %s", got, took)
				}
				if ago := time.Since(j.last()); ago != 300*time.Millisecond {
					t.Errorf("asked %s ago, not after the debounce", ago)
				}
				if got, took := passes(t, alice); got != c.want || took > 0 {
					t.Errorf("the next event %s after %s", got, took)
				}
				<-time.After(2 * time.Second)
				synctest.Wait()
				want := map[bool]int{true: 2, false: 1}[c.allow] // the second look
				if a, b := j.count("alice"), j.count("bob"); a != want || b != 0 {
					t.Errorf("%d reviews of the one, %d of the other", a, b)
				}
			})
		})
	}
}

// An upstream that learns of a change late is asked a second time, and nothing waits for that.
func TestSecondLook(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		l := hold(t, r, a)
		r.Lost(named("alice"))
		if got, took := passes(t, l); got != "passes" || took != 100*time.Millisecond {
			t.Errorf("an event %s after %s", got, took)
		}
		if got := how(r, t.Context(), a); got != "granted" {
			t.Error(got)
		}
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		<-time.After(1800 * time.Millisecond)
		if got, took := passes(t, l); got != "passes" || took > 0 {
			t.Errorf("an event %s after %s", got, took)
		}
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		if !isEnded(l) {
			t.Error("the lease goes on after the second look")
		}
		if got := how(r, t.Context(), a); got != "denied" {
			t.Errorf("what was allowed between is %s", got)
		}
	})
}

// An answer that was asked for before the right was lost does not end the doubt.
func TestAnswerFromBefore(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j, Watches: WatchAuthorizationConfig{SecondLook: time.Hour}}, func(t *testing.T, r *Reviews) {
		l := hold(t, r, podsOf(person("alice"), "a"))
		before, after := make(chan struct{}), make(chan struct{})
		j.total()
		j.set(func() { j.wait = before })
		for j.total() == 0 { // until the periodic review is on its way
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
		if err := l.Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an event passes: %v", err)
		}
		close(after)
		if got, _ := passes(t, l); got != "revoked" {
			t.Error(got)
		}
	})
}

// What is lost between the grant and the lease holds up the first event.
func TestLostBeforeHold(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		a := podsOf(person("alice"), "a")
		if got := how(r, t.Context(), a); got != "granted" {
			t.Fatal(got)
		}
		r.Lost(named("alice"))
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		l := r.Hold(a)
		if got, _ := passes(t, l); got != "revoked" {
			t.Error(got)
		}
	})
}

// While the upstream cannot be asked, events are held up for five seconds, and leases last for five minutes or six.
func TestLeasesInAnOutage(t *testing.T) {
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
					l := hold(t, r, podsOf(person("alice"), "a"))
					short := hold(t, r, podsOf(person("bob"), "a"))
					j.set(func() { fail(j) })
					if lost {
						r.Lost(named("alice"))
						if got, took := passes(t, l); got != "passes" || took < 5*time.Second || took > 7*time.Second {
							t.Errorf("an event %s after %s", got, took)
						}
					}
					j.total()
					<-time.After(time.Minute)
					if got, took := passes(t, l); got != "passes" || took > 0 {
						t.Errorf("a later event %s after %s", got, took)
					}
					if n := j.total(); n > 65 {
						t.Errorf("%d reviews in a minute", n)
					}
					<-time.After(4*time.Minute - 10*time.Second)
					if isEnded(l) || isEnded(short) {
						t.Error("ended too early")
					}
					short.Release()
					<-time.After(2 * time.Minute)
					if got, _ := passes(t, l); got != "revoked" {
						t.Errorf("after seven minutes an event %s", got)
					}
				})
			})
		}
	}
}

// However many leases there are, an upstream that does not answer is asked once a second whether it does; then all of
// them are reviewed.
func TestFewLeaseReviewsInAnOutage(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		var leases []*WatchAuthorization
		for i := range 1000 {
			a := podsOf(person(fmt.Sprint("user", i)), "a")
			allow(r, a)
			leases = append(leases, r.Hold(a))
		}
		<-time.After(time.Minute)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		<-time.After(time.Minute)
		r.Lost(func(user.Info) bool { return true })
		<-time.After(2 * time.Minute)
		j.total()
		<-time.After(time.Minute)
		if n := j.total(); n < 55 || n > 65 {
			t.Errorf("%d reviews in a minute", n)
		}
		j.set(func() { j.fail = nil })
		<-time.After(10 * time.Second)
		j.set(func() {
			if len(j.asked) < 1000 {
				t.Errorf("only %d are reviewed again", len(j.asked))
			}
		})
		for _, l := range leases {
			if got, took := passes(t, l); got != "passes" || took > 0 {
				t.Fatalf("%s after %s", got, took)
			}
			l.Release()
		}
	})
}

// Whoever checks after a loss was told, from wherever, is not let through before the review.
func TestCheckRace(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		for i := range 50 {
			j.set(func() { j.allow = nil })
			l := hold(t, r, podsOf(person("alice"), fmt.Sprint(i)))
			j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
			var (
				lost atomic.Bool
				wait sync.WaitGroup
			)
			for range 8 {
				wait.Go(func() {
					for {
						known := lost.Load()
						switch err := l.Check(t.Context()); {
						case err != nil:
							return
						case known:
							t.Error("an event passes after the loss was told")
							return
						}
						runtime.Gosched()
					}
				})
			}
			r.Lost(named("alice"))
			lost.Store(true)
			wait.Wait()
			<-time.After(5 * time.Second) // the second look is over
		}
	})
}

// tally is an Observer.
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
func (t *tally) Reviewed(asker Asker, _ time.Duration, err error) {
	t.note(fmt.Sprintf("%s, answered: %t", asker, err == nil))
}

// WatchAuthorizationEnded implements Observer.
func (t *tally) WatchAuthorizationEnded(why Ending) { t.note("ended: " + string(why)) }

func TestObserver(t *testing.T) {
	j, seen := newJudge(), &tally{all: map[string]int{}}
	config := ReviewsConfig{Upstream: j, Observer: seen, ShareRate: Rate{PerSecond: 0.01, Burst: 3}, Watches: WatchAuthorizationConfig{Every: time.Hour}}
	following(t, config, func(t *testing.T, r *Reviews) {
		alice := podsOf(person("alice"), "a")
		released, l := hold(t, r, alice), hold(t, r, alice)
		released.Release()
		_ = how(r, t.Context(), Attributes{Caller: alice.Caller, Verb: "get", Path: "/readyz"})
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		for range 2 {
			_ = how(r, t.Context(), podsOf(alice.Caller, "b"))
		}
		r.Lost(named("alice"))
		_, _ = passes(t, l)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		_, _ = how(r, t.Context(), podsOf(alice.Caller, "c")), how(r, t.Context(), podsOf(alice.Caller, "d"))
		left, leave := context.WithCancel(t.Context())
		leave()
		answer := make(chan struct{})
		j.set(func() { j.wait = answer }) // which does not come before he has left
		_ = how(r, left, podsOf(person("bob"), "a"))
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

// Errors that pass do not add up.
func TestOutagesDoNotAddUp(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		l := hold(t, r, podsOf(person("alice"), "a"))
		for range 10 {
			j.set(func() { j.fail = syscall.ECONNREFUSED })
			<-time.After(4 * time.Minute)
			j.set(func() { j.fail = nil })
			<-time.After(time.Minute)
		}
		if isEnded(l) {
			t.Error("ended")
		}
		l.Release()
	})
}

func TestCredentialEnds(t *testing.T) {
	following(t, ReviewsConfig{Upstream: newJudge()}, func(t *testing.T, r *Reviews) {
		who := NewCaller(&user.DefaultInfo{Name: "alice"}, ByToken, time.Now().Add(time.Minute))
		l, released := hold(t, r, podsOf(who, "a")), hold(t, r, podsOf(who, "a"))
		released.Release()
		<-time.After(time.Minute - time.Millisecond)
		if isEnded(l) {
			t.Error("ended too early")
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if got, _ := passes(t, l); got != "revoked" || isEnded(released) {
			t.Error(got)
		}
		if late := r.Hold(podsOf(who, "a")); !isEnded(late) {
			t.Error("a lease begins after its end")
		}
	})
}

func TestIdentityGoes(t *testing.T) {
	var gone atomic.Bool
	exists := func(who user.Info) bool { return !gone.Load() || who.GetName() != "alice" }
	following(t, ReviewsConfig{Upstream: newJudge(), Exists: exists, AlwaysAllowGroups: []string{"rescue"}}, func(t *testing.T, r *Reviews) {
		alice, trusted := hold(t, r, podsOf(person("alice"), "a")), hold(t, r, podsOf(person("alice", "rescue"), "a"))
		bob := hold(t, r, podsOf(person("bob"), "a"))
		<-time.After(time.Minute + time.Millisecond)
		gone.Store(true) // for a moment
		<-time.After(existenceInterval)
		gone.Store(false)
		<-time.After(existenceInterval)
		gone.Store(true)
		<-time.After(existenceInterval)
		synctest.Wait()
		if isEnded(alice) {
			t.Error("believed at once")
		}
		<-time.After(existenceInterval)
		synctest.Wait()
		if !isEnded(alice) || !isEnded(trusted) || isEnded(bob) {
			t.Errorf("ended: %t, %t; another: %t", isEnded(alice), isEnded(trusted), isEnded(bob))
		}
		bob.Release()
	})
}

// 5,000 kubelets with five watches each cost what was allowed for them, and none is reviewed again before its turn;
// what one of them loses is asked at once, and nothing else is.
func TestReviewsOfManyLeases(t *testing.T) {
	const watches = 5
	nodes := settings.Amount(2000, 5000)
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		var leases []*WatchAuthorization
		for i := range nodes {
			node := person(fmt.Sprint("system:node:n", i), "system:nodes")
			for k := range watches {
				a := podsOf(node, fmt.Sprint(k))
				allow(r, a)
				leases = append(leases, r.Hold(a))
			}
		}
		reviewed, all := map[string]bool{}, 0
		j.set(func() {
			j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool {
				reviewed[s.User+s.ResourceAttributes.Namespace] = true
				return true
			}
		})
		for range 3 * 60 {
			<-time.After(time.Second)
			n := j.total()
			if all += n; n > 51 {
				t.Fatalf("%d reviews in a second", n)
			}
		}
		j.set(func() { j.allow = nil })
		if all < 50*150 || len(reviewed) != all {
			t.Errorf("%d reviews of %d decisions", all, len(reviewed))
		}
		r.Lost(named("system:node:n7"))
		for _, l := range leases[7*watches : 8*watches] {
			if got, took := passes(t, l); got != "passes" || took > 200*time.Millisecond {
				t.Errorf("%s after %s", got, took)
			}
		}
		if one, all := j.count("system:node:n7"), j.total(); one < watches || one > watches+1 || all > 12 {
			t.Errorf("%d reviews of the one, %d of others", one, all)
		}
		for _, l := range leases {
			l.Release()
		}
	})
}

// When everybody's rights may have changed, those whose events wait are asked first.
func TestAwaitedFirst(t *testing.T) {
	j := newJudge()
	following(t, ReviewsConfig{Upstream: j}, func(t *testing.T, r *Reviews) {
		var leases []*WatchAuthorization
		for i := range 10_000 {
			a := podsOf(person(fmt.Sprint("user", i)), "a")
			allow(r, a)
			leases = append(leases, r.Hold(a))
		}
		r.Lost(func(user.Info) bool { return true })
		<-time.After(time.Second)
		for _, l := range leases[9000:9100] {
			if got, took := passes(t, l); got != "passes" || took > 50*time.Millisecond {
				t.Fatalf("%s after %s", got, took)
			}
		}
		for _, l := range leases {
			l.Release()
		}
	})
}

func BenchmarkLeaseCheck(b *testing.B) {
	r := NewReviews(ReviewsConfig{Upstream: newJudge(), AllowedTTL: time.Hour})
	a := podsOf(person("alice"), "a")
	if _, err := r.Authorize(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	l := r.Hold(a)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Check(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
