package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

var pods = Attributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: "default"}

// upstream answers reviews as the test configures it.
type upstream struct {
	asked atomic.Int64
	lost  time.Time // start of the outage that Silent reports; zero for none

	mu     sync.Mutex // guards answer
	answer func(ctx context.Context) (int, string, error)
}

// Silent implements Upstream.
func (u *upstream) Silent() time.Duration {
	if u.lost.IsZero() {
		return 0
	}
	return time.Since(u.lost)
}

// Post implements Upstream.
func (u *upstream) Post(ctx context.Context, _ string, _ []byte) (int, []byte, error) {
	u.asked.Add(1)
	u.mu.Lock()
	answer := u.answer
	u.mu.Unlock()
	code, body, err := answer(ctx)
	return code, []byte(body), err
}

func (u *upstream) does(answer func(ctx context.Context) (int, string, error)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = answer
}

func (u *upstream) says(code int, body string) {
	u.does(func(context.Context) (int, string, error) { return code, body, nil })
}

const (
	yes = `{"kind":"SubjectAccessReview","status":{"allowed":true}}`
	no  = `{"kind":"SubjectAccessReview","status":{"allowed":false}}`
)

var errDown = errors.New("connection refused")

func (u *upstream) isDown() {
	u.does(func(context.Context) (int, string, error) { return 0, "", errDown })
}

// interrupted is an upstream that fails a review while another request reads how long it has been silent.
type interrupted struct {
	*upstream
	fail func()
}

// Silent implements Upstream.
func (i *interrupted) Silent() time.Duration {
	i.fail()
	return 0
}

// While the upstream refuses reviews, a question without a permission is denied, even if a review of another request
// fails in the same moment. Then the refusal is over, but the question still has no permission.
func TestRefusalThatEndsAllowsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := &interrupted{upstream: &upstream{}}
		u.says(http.StatusForbidden, "")
		s := NewSelf(u, time.Hour)
		u.fail = func() { s.trouble.recordNoAnswer(time.Now()) }
		for range 2 {
			s.trouble.recordRefusal()
			<-time.After(refusalGrace)
		}
		s.trouble.recordRefusal()
		var denied *DeniedError
		if decision, err := s.Authorize(t.Context(), pods); !errors.As(err, &denied) {
			t.Errorf("got %+v, %v, want a denial", decision, err)
		}
		synctest.Wait()
	})
}

func TestSelfAuthorizesByResponseOfUpstream(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
		err  error
		want string
	}{
		"allowed":                    {201, yes, nil, "granted"},
		"allowed, 200":               {200, yes, nil, "granted"},
		"not allowed":                {201, no, nil, "denied"},
		"denied":                     {201, `{"kind":"SubjectAccessReview","status":{"allowed":false,"denied":true}}`, nil, "denied"},
		"allowed and denied":         {201, `{"kind":"SubjectAccessReview","status":{"allowed":true,"denied":true}}`, nil, "denied"},
		"not allowed, with an error": {201, `{"kind":"SubjectAccessReview","status":{"allowed":false,"evaluationError":"x"}}`, nil, "denied"},
		"no status":                  {201, `{"kind":"SelfSubjectAccessReview"}`, nil, "denied"},
		"no review":                  {201, `{}`, nil, "unavailable"},
		"no JSON":                    {201, `<html>`, nil, "unavailable"},
		"nothing":                    {201, ``, nil, "unavailable"},
		"no answer":                  {0, ``, errDown, "unavailable"},
		"an error that says allowed": {500, yes, nil, "unavailable"},
		"too many requests":          {429, yes, nil, "unavailable"},
		"not found":                  {404, yes, nil, "unavailable"},
		"a redirect":                 {302, yes, nil, "unavailable"},
		"no permission for reviews":  {403, yes, nil, "unavailable"},
		"expired credentials":        {401, yes, nil, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			u := &upstream{answer: func(context.Context) (int, string, error) { return c.code, c.body, c.err }}
			decision, err := NewSelf(u, time.Hour).Authorize(t.Context(), pods)
			var unavailable *UnavailableError
			got := fmt.Sprint(err)
			switch {
			case err == nil:
				got = "granted"
			case IsDenied(err):
				got = "denied"
			case errors.As(err, &unavailable):
				got = "unavailable"
			}
			if got != c.want || decision.Covers(pods) != (c.want == "granted") {
				t.Errorf("got %s, want %s; the decision covers the question: %t", got, c.want, decision.Covers(pods))
			}
		})
	}
}

// A review contains exactly the attributes of the request with its selectors.
func TestSelfReviewContainsRequest(t *testing.T) {
	fieldSelector, err := fields.ParseSelector("spec.nodeName=n1,status.phase!=Running")
	if err != nil {
		t.Fatal(err)
	}
	labelSelector, err := labels.Parse("a=b,c!=d,e in (f,g),h,!i,j notin (k),l>5")
	if err != nil {
		t.Fatal(err)
	}
	requirements, _ := labelSelector.Requirements()
	a := Attributes{
		Verb: "watch", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Name: "n",
		Fields: fieldSelector.Requirements(), Labels: requirements,
	}
	var path string
	var review authorizationv1.SelfSubjectAccessReview
	post := poster(func(to string, body []byte) (int, []byte, error) {
		path = to
		return 201, []byte(yes), json.Unmarshal(body, &review)
	})
	if _, err := NewSelf(post, 0).Authorize(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectAccessReview", APIVersion: "authorization.k8s.io/v1"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "watch", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Name: "n",
			FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
				{Key: "spec.nodeName", Operator: "In", Values: []string{"n1"}}, {Key: "status.phase", Operator: "NotIn", Values: []string{"Running"}},
			}},
			LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
				{Key: "a", Operator: "In", Values: []string{"b"}}, {Key: "c", Operator: "NotIn", Values: []string{"d"}},
				{Key: "e", Operator: "In", Values: []string{"f", "g"}}, {Key: "h", Operator: "Exists"}, {Key: "i", Operator: "DoesNotExist"},
				{Key: "j", Operator: "NotIn", Values: []string{"k"}},
			}},
		}},
	}
	if diff := cmp.Diff(want, review); diff != "" || path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
		t.Errorf("got a review at %s\n%s", path, diff)
	}
}

func TestSelfConcurrentRequestsShareOneReview(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		u := &upstream{answer: func(context.Context) (int, string, error) { <-release; return 201, yes, nil }}
		s := NewSelf(u, 0)
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if decision, err := s.Authorize(t.Context(), pods); err != nil || !decision.Covers(pods) {
					t.Errorf("got %v, want granted", err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wait.Wait()
		if n := u.asked.Load(); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
		other := pods
		other.Namespace = "kube-system"
		u.says(201, no)
		if decision, err := s.Authorize(t.Context(), other); err == nil || decision.Covers(other) || decision.Covers(pods) {
			t.Errorf("got granted for another question, want denied")
		}
	})
}

// Permissions and refusals are cached for ten seconds.
func TestSelfCachesDecisions(t *testing.T) {
	for _, answers := range [][2]string{{yes, no}, {no, yes}} {
		bubble.Test(t, func(t *testing.T) {
			u := &upstream{}
			s := NewSelf(u, time.Hour)
			u.says(201, answers[0])
			granted := func() bool {
				decision, err := s.Authorize(t.Context(), pods)
				if (err == nil) != decision.Covers(pods) {
					t.Errorf("got a decision that does not match the error %v", err)
				}
				return err == nil
			}
			if granted() != (answers[0] == yes) {
				t.Error("got the wrong first answer")
			}
			u.says(201, answers[1])
			<-time.After(decisionTTL - time.Nanosecond)
			if granted() != (answers[0] == yes) || u.asked.Load() != 1 {
				t.Errorf("got %d reviews within the time to live, want 1", u.asked.Load())
			}
			<-time.After(time.Nanosecond)
			if granted() != (answers[1] == yes) || u.asked.Load() != 2 {
				t.Error("got the cached decision after its time to live, want a review")
			}
		})
	}
}

// In an outage, an earlier permission stays valid for maxStaleness, or without limit. The time counts from the start of
// the outage, not from the permission. A refusal never becomes a permission.
func TestSelfPermissionStaysValidForMaxStaleness(t *testing.T) {
	const stale, long = 3 * time.Minute, 24 * time.Hour
	for name, c := range map[string]struct {
		first string
		fail  func(*upstream)
		stale time.Duration
		holds time.Duration // how long the permission stays valid during the failure
	}{
		"allowed, down":              {yes, (*upstream).isDown, stale, stale},
		"allowed, 500":               {yes, func(u *upstream) { u.says(500, "") }, stale, stale},
		"allowed, hanging":           {yes, func(u *upstream) { u.does(hang) }, stale, stale},
		"allowed, garbage":           {yes, func(u *upstream) { u.says(201, "<html>") }, stale, stale},
		"allowed, down, without end": {yes, (*upstream).isDown, 0, long},
		"allowed, hanging, without":  {yes, func(u *upstream) { u.does(hang) }, 0, long},
		"denied, down":               {no, (*upstream).isDown, stale, 0},
		"denied, down, without end":  {no, (*upstream).isDown, 0, 0},
		"allowed, then denied":       {yes, func(u *upstream) { u.says(201, no) }, stale, 0},
		"allowed, then unauthorized": {yes, func(u *upstream) { u.says(http.StatusUnauthorized, "") }, stale, refusalGrace},
		"allowed, then forbidden":    {yes, func(u *upstream) { u.says(http.StatusForbidden, "") }, 0, refusalGrace},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				u := &upstream{}
				s := NewSelf(u, c.stale)
				u.says(201, c.first)
				_, _ = s.Authorize(t.Context(), pods)
				<-time.After(20 * time.Minute) // no requests for a while
				c.fail(u)
				lost := time.Now()
				for time.Since(lost) < 3*stale {
					began := time.Since(lost)
					decision, err := s.Authorize(t.Context(), pods)
					if granted := err == nil && decision.Covers(pods); granted != (began <= c.holds) && !within(began, c.holds, 2*probeInterval) {
						t.Fatalf("after %s: got granted %t, %v", began, granted, err)
					}
					if took := time.Since(lost) - began; c.first == yes && took > 0 && (began > 0 || took > reviewPatience) {
						t.Fatalf("after %s: got a duration of %s", began, took)
					}
					<-time.After(time.Second)
				}
				u.says(201, yes)
				<-time.After(decisionTTL)
				_, _ = s.Authorize(t.Context(), pods) // probes the upstream
				synctest.Wait()
				if _, err := s.Authorize(t.Context(), pods); err != nil {
					t.Errorf("after the outage: got %v, want granted", err)
				}
			})
		})
	}
}

func within(a, b, by time.Duration) bool { return max(a-b, b-a) <= by }

// An outage that other requests of the facade observed counts immediately: no read waits for a review.
func TestSelfUsesOutageObservedElsewhere(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := &upstream{}
		u.says(201, yes)
		s := NewSelf(u, time.Minute)
		_, _ = s.Authorize(t.Context(), pods)
		<-time.After(time.Hour)
		u.does(hang)
		u.lost = time.Now().Add(-30 * time.Second)
		began := time.Now()
		if decision, err := s.Authorize(t.Context(), pods); err != nil || !decision.Covers(pods) || time.Since(began) > 0 {
			t.Errorf("got %v after %s, want granted immediately", err, time.Since(began))
		}
		<-time.After(31 * time.Second)
		if _, err := s.Authorize(t.Context(), pods); !errors.Is(err, ErrStale) {
			t.Errorf("after maxStaleness: got %v, want ErrStale", err)
		}
		<-time.After(reviewTimeout)
	})
}

// In an outage, one review per second is sent, however many reads there are.
func TestSelfProbesOncePerSecondInAnOutage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := &upstream{}
		u.says(201, yes)
		s := NewSelf(u, 0)
		read := func() {
			for i := range 100 {
				a := pods
				a.Name = fmt.Sprint(i)
				if decision, err := s.Authorize(t.Context(), a); err != nil || !decision.Covers(a) {
					t.Fatalf("got %v, want granted", err)
				}
			}
		}
		read()
		<-time.After(time.Minute)
		u.isDown()
		before := u.asked.Load()
		for range 60 {
			read()
			<-time.After(time.Second)
		}
		if n := u.asked.Load() - before; n < 30 || n > 62 {
			t.Errorf("got %d reviews in a minute, want about 60", n)
		}
	})
}

// poster is an upstream that always responds.
type poster func(path string, body []byte) (int, []byte, error)

// Post implements Upstream.
func (p poster) Post(_ context.Context, path string, body []byte) (int, []byte, error) {
	return p(path, body)
}

// Silent implements Upstream.
func (p poster) Silent() time.Duration { return 0 }

func hang(ctx context.Context) (int, string, error) {
	<-ctx.Done()
	return 0, "", ctx.Err()
}

// A permission that was refused later is not restored by an outage.
func TestSelfRefusalEndsEarlierPermission(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := &upstream{}
		s := NewSelf(u, time.Hour)
		for _, answer := range []string{yes, no} {
			u.says(201, answer)
			_, _ = s.Authorize(t.Context(), pods)
			<-time.After(decisionTTL)
		}
		u.isDown()
		if decision, err := s.Authorize(t.Context(), pods); err == nil || decision.Covers(pods) {
			t.Error("got granted, want a refusal")
		}
	})
}

func TestReviewTakesAtMostFiveSeconds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := &upstream{answer: hang}
		began := time.Now()
		var unavailable *UnavailableError
		_, err := NewSelf(u, time.Hour).Authorize(t.Context(), pods)
		if !errors.As(err, &unavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != reviewTimeout {
			t.Errorf("got %v after %s, want an UnavailableError after 5s", err, time.Since(began))
		}
	})
}

// A caller that leaves does not cancel the shared review, even if it started the review.
func TestSelfReviewOutlivesItsCaller(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		u := &upstream{answer: func(ctx context.Context) (int, string, error) {
			select {
			case <-release:
				return 201, yes, nil
			case <-ctx.Done():
				return 0, "", ctx.Err()
			}
		}}
		s := NewSelf(u, 0)
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { _, err := s.Authorize(ctx, pods); left <- err }()
		synctest.Wait()
		go func() { _, err := s.Authorize(t.Context(), pods); stayed <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that left: got %v, want context.Canceled", err)
		}
		close(release)
		if err := <-stayed; err != nil || u.asked.Load() != 1 {
			t.Errorf("the caller that stayed: got %v and %d reviews, want granted by 1", err, u.asked.Load())
		}
	})
}

func TestSelfBoundsCachedDecisions(t *testing.T) {
	u := &upstream{}
	u.says(201, yes)
	s := NewSelf(u, 0)
	for i := range maxDecisions + 10 {
		s.keep([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, decision{allowed: true, made: time.Now()})
		if len(s.decisions) > maxDecisions {
			t.Fatalf("got %d cached decisions, want maxDecisions at most", len(s.decisions))
		}
	}
	for i := range 10 {
		a := pods
		a.Name = fmt.Sprint(i)
		if decision, err := s.Authorize(t.Context(), a); err != nil || !decision.Covers(a) {
			t.Errorf("got %v, want granted", err)
		}
	}
}
