package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// judge is an upstream that answers each review by a function, and counts the reviews.
type judge struct {
	mu     sync.Mutex // guards the fields below
	allow  func(authorizationv1.SubjectAccessReviewSpec) bool
	fail   error         // error of Post; nil for a response
	code   int           // status code of the response, if not 0
	text   string        // body of the response, with code
	wait   chan struct{} // if not nil, responses wait until it is closed
	status authorize     // if not nil, replaces allow
	asked  map[string]int
	latest time.Time // time of the last review
}

// authorize answers a review.
type authorize = func(authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus

func newJudge() *judge { return &judge{asked: map[string]int{}} }

// Post implements Upstream.
func (j *judge) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	var review authorizationv1.SubjectAccessReview
	if err := json.Unmarshal(body, &review); err != nil || path != "/apis/authorization.k8s.io/v1/subjectaccessreviews" {
		return 0, nil, fmt.Errorf("not a review: %s %w", path, err)
	}
	j.mu.Lock()
	j.asked[review.Spec.User]++
	j.latest = time.Now()
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: j.allow == nil || j.allow(review.Spec), Reason: "says the judge",
	}
	if j.status != nil {
		status = j.status(review.Spec)
	}
	wait, code, text, fail := j.wait, j.code, j.text, j.fail
	j.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		}
	}
	switch {
	case fail != nil:
		return 0, nil, fail
	case code != 0:
		return code, []byte(text), nil
	}
	answer, err := json.Marshal(authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview"}, Status: status})
	return http.StatusCreated, answer, err
}

// Silent implements Upstream.
func (j *judge) Silent() time.Duration { return 0 }

func (j *judge) set(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
}

// count returns the number of reviews of a user since the last call of count or total.
func (j *judge) count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.asked[name]
	delete(j.asked, name)
	return n
}

// total returns the number of reviews of all users since the last call.
func (j *judge) total() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, each := range j.asked {
		n += each
	}
	clear(j.asked)
	return n
}

// last returns the time of the last review.
func (j *judge) last() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.latest
}

func person(name string, groups ...string) *Caller {
	return NewCaller(&user.DefaultInfo{Name: name, Groups: groups}, ByCertificate, time.Time{})
}

// allow caches a permission as if a review had returned it.
func allow(r *Reviews, a Attributes) {
	q := newQuestion(a, r.period())
	caller, asked := r.begin(q)
	defer r.finish("", caller)
	r.keep(q, caller, asked, answer{allowed: true})
}

// podsOf returns the attributes of a watch of the pods in a namespace.
func podsOf(caller *Caller, namespace string) Attributes {
	return Attributes{Caller: caller, Verb: "watch", Version: "v1", Resource: "pods", Namespace: namespace}
}

// named returns all requests of a user.
func named(name string) Affected { return namedIn(name, "") }

// namedIn returns the requests of a user in a namespace.
func namedIn(name, namespace string) Affected {
	return Affected{namespace: func(caller user.Info) bool { return caller.GetName() == name }}
}

// countSubjects returns the number of known subjects.
func countSubjects(r *Reviews) (n int) {
	for _, known := range r.subjects.identities {
		n += len(known.subjects)
	}
	return n
}

// outcome authorizes a request and returns the result in a word.
func outcome(r *Reviews, ctx context.Context, a Attributes) string { //nolint:revive // ctx is of the request
	decision, err := r.Authorize(ctx, a)
	var (
		unavailable *UnavailableError
		busy        *BusyError
	)
	switch {
	case decision.Covers(a) != (err == nil):
		return "a decision that does not match its error"
	case err == nil:
		return "granted"
	case IsDenied(err):
		return "denied"
	case errors.As(err, &unavailable):
		return "unavailable"
	case errors.As(err, &busy) && busy.After > 0:
		return "busy"
	default:
		return err.Error()
	}
}

// A review contains all attributes of the caller, and exactly the attributes of the request with its selectors.
func TestReviewContainsCallerAndRequest(t *testing.T) {
	fieldSelector := fields.ParseSelectorOrDie("spec.nodeName=n1")
	labelSelector, err := labels.ParseToRequirements("a in (b,c),!d")
	if err != nil {
		t.Fatal(err)
	}
	caller := NewCaller(&user.DefaultInfo{
		Name: "system:node:n1", UID: "u1", Groups: []string{"system:nodes", "system:authenticated"},
		Extra: map[string][]string{"example.org/Scopes": {"a"}, "example.org/scopes": {"b"}, "x": {"y", "z"}},
	}, ByToken, time.Time{})
	about := authorizationv1.SubjectAccessReviewSpec{
		User: "system:node:n1", UID: "u1", Groups: []string{"system:nodes", "system:authenticated"},
		Extra: map[string]authorizationv1.ExtraValue{"example.org/scopes": {"a", "b"}, "x": {"y", "z"}},
	}
	resource, path := about, about
	resource.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Namespace: "ns", Name: "n",
		FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
			{Key: "spec.nodeName", Operator: "In", Values: []string{"n1"}},
		}},
		LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: "In", Values: []string{"b", "c"}}, {Key: "d", Operator: "DoesNotExist"},
		}},
	}
	path.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
	for name, c := range map[string]struct {
		asked Attributes
		want  authorizationv1.SubjectAccessReviewSpec
	}{
		"resource": {Attributes{
			Caller: caller, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Namespace: "ns", Name: "n",
			Fields: fieldSelector.Requirements(), Labels: labelSelector,
		}, resource},
		"a requirement of no field": {Attributes{
			Caller: caller, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Namespace: "ns", Name: "n",
			Fields: append(fields.ParseSelectorOrDie("=x,!=y").Requirements(), fieldSelector.Requirements()...), Labels: labelSelector,
		}, resource},
		"path": {Attributes{Caller: caller, Verb: "get", Path: "/metrics"}, path},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			j.allow = func(got authorizationv1.SubjectAccessReviewSpec) bool {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				return true
			}
			if got := outcome(NewReviews(ReviewsConfig{Upstream: j}), t.Context(), c.asked); got != "granted" {
				t.Errorf("got %s, want granted", got)
			}
		})
	}
}

func TestAuthorizeByResponseOfUpstream(t *testing.T) {
	const status = `{"kind":"Status","details":{"retryAfterSeconds":1}}`
	for name, c := range map[string]struct {
		code  int
		body  string
		err   error
		want  string
		asked int
	}{
		"allowed":            {201, yes, nil, "granted", 1},
		"denied":             {201, no, nil, "denied", 1},
		"both":               {201, `{"kind":"SubjectAccessReview","status":{"allowed":true,"denied":true}}`, nil, "denied", 1},
		"no status":          {201, `{"kind":"SubjectAccessReview"}`, nil, "denied", 1},
		"no review":          {201, `{}`, nil, "unavailable", 1},
		"a Status":           {200, status, nil, "unavailable", 1},
		"garbage":            {201, `<html>`, nil, "unavailable", 1},
		"refused":            {403, yes, nil, "unavailable", 1},
		"unauthorized":       {401, yes, nil, "unavailable", 1},
		"invalid":            {422, yes, nil, "unavailable", 1},
		"unavailable":        {503, yes, nil, "unavailable", 1},
		"broken":             {500, yes, nil, "unavailable", 3},
		"busy":               {429, "Too many requests, please try again later.", nil, "unavailable", 2},
		"busy for a second":  {429, status, nil, "unavailable", 2},
		"busy for a minute":  {429, strings.Replace(status, "1}", "60}", 1), nil, "unavailable", 1},
		"connection refused": {0, "", syscall.ECONNREFUSED, "unavailable", 1},
		"connection reset":   {0, "", syscall.ECONNRESET, "unavailable", 3},
		"connection ended":   {0, "", io.ErrUnexpectedEOF, "unavailable", 1},
		"no response":        {0, "", context.DeadlineExceeded, "unavailable", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				j := newJudge()
				j.code, j.text, j.fail = c.code, c.body, c.err
				began := time.Now()
				if got := outcome(NewReviews(ReviewsConfig{Upstream: j}), t.Context(), podsOf(person("alice"), "a")); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				if n := j.total(); n != c.asked || time.Since(began) > retryWithin {
					t.Errorf("got %d reviews in %s, want %d", n, time.Since(began), c.asked)
				}
			})
		})
	}
}

// An error that a retry resolves is not reported.
func TestTransientErrorIsRetried(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.fail = syscall.ECONNRESET
		r := NewReviews(ReviewsConfig{Upstream: j})
		go func() {
			synctest.Wait()
			j.set(func() { j.fail = nil })
		}()
		if got := outcome(r, t.Context(), podsOf(person("alice"), "a")); got != "granted" {
			t.Errorf("got %s, want granted", got)
		}
	})
}

func TestDenialHasItsReason(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false }
		r := NewReviews(ReviewsConfig{Upstream: j})
		for range 2 { // the second denial is cached
			_, err := r.Authorize(t.Context(), podsOf(person("alice"), "a"))
			var denied *DeniedError
			if !errors.As(err, &denied) || denied.Reason != "says the judge" {
				t.Errorf("got %v, want a refusal with the reason", err)
			}
		}
		if n := j.total(); n != 1 {
			t.Errorf("got %d reviews, want 1", n)
		}
	})
}

// Forwarded requests, open paths and allowed groups need no review; all other requests do.
func TestRequestsThatNeedNoReview(t *testing.T) {
	alice, root := person("alice", "people"), person("root", "people", "rescue")
	path := func(caller *Caller, path string) Attributes {
		return Attributes{Caller: caller, Verb: "get", Path: path}
	}
	passed := podsOf(alice, "a")
	passed.PassedThrough = true
	resource := podsOf(alice, "a")
	resource.Path = "/readyz"
	for name, c := range map[string]struct {
		asked Attributes
		want  string
		posts int
	}{
		"forwarded":           {passed, "granted", 0},
		"a resource":          {podsOf(alice, "a"), "denied", 1},
		"with a path":         {resource, "denied", 1},
		"/readyz":             {path(alice, "/readyz"), "granted", 0},
		"below /readyz":       {path(alice, "/readyz/ping"), "granted", 0},
		"/readyz as a prefix": {path(alice, "/readyzping"), "denied", 1},
		"/metrics":            {path(alice, "/metrics"), "denied", 1},
		"of an allowed group": {podsOf(root, "a"), "granted", 0},
		"path of that group":  {path(root, "/metrics"), "granted", 0},
		"no verb":             {Attributes{Caller: root, Version: "v1", Resource: "pods"}, "denied", 0},
		"no caller":           {Attributes{Verb: "get", Path: "/readyz"}, "denied", 0},
		"no verb, forwarded":  {Attributes{Caller: root, Path: "/x", PassedThrough: true}, "denied", 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false }
			r := NewReviews(ReviewsConfig{Upstream: j, AlwaysAllowGroups: []string{"rescue"}})
			if got := outcome(r, t.Context(), c.asked); got != c.want || j.total() != c.posts {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestConcurrentRequestsShareOneReview(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.wait = make(chan struct{})
		j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "admin" }
		r := NewReviews(ReviewsConfig{Upstream: j})
		var wait sync.WaitGroup
		for i := range 400 {
			name, want := "alice", "denied"
			if i%2 == 0 {
				name, want = "admin", "granted"
			}
			wait.Go(func() {
				if got := outcome(r, t.Context(), podsOf(person(name), "a")); got != want {
					t.Errorf("%s: got %s", name, got)
				}
			})
		}
		synctest.Wait()
		close(j.wait)
		wait.Wait()
		if n := j.total(); n != 2 {
			t.Errorf("got %d reviews, want 2", n)
		}
	})
}

// Permissions and refusals are cached for times of their own.
func TestDecisionsAreCachedForTheirTTL(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "admin" }
		r := NewReviews(ReviewsConfig{Upstream: j, AllowedTTL: 20 * time.Second, DeniedTTL: 5 * time.Second})
		for range 60 {
			for _, name := range []string{"admin", "alice"} {
				_ = outcome(r, t.Context(), podsOf(person(name), "a"))
			}
			<-time.After(time.Second)
		}
		if admin, alice := j.count("admin"), j.count("alice"); admin != 3 || alice != 12 {
			t.Errorf("got %d reviews of a permission and %d of a refusal, want 3 and 12", admin, alice)
		}
		if n := countSubjects(r); n != len(r.verdicts.byHash) {
			t.Errorf("got %d subjects and %d verdicts, want as many of each", n, len(r.verdicts.byHash))
		}
	})
}

// A very long question is answered, but its answer is not cached.
func TestLongQuestionIsNotCached(t *testing.T) {
	j := newJudge()
	j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.ResourceAttributes.FieldSelector != nil }
	r := NewReviews(ReviewsConfig{Upstream: j})
	a := podsOf(person("alice"), "a")
	a.Fields = fields.Requirements{{Field: "metadata.name", Operator: "=", Value: strings.Repeat("x", maxKeptKey)}}
	for range 2 {
		if got := outcome(r, t.Context(), a); got != "granted" {
			t.Errorf("got %s, want granted", got)
		}
	}
	if n := j.total(); n != 3 || len(r.verdicts.byHash) != 1 { // only the refusal without the selector is cached
		t.Errorf("got %d reviews and %d cached verdicts, want 3 and 1", n, len(r.verdicts.byHash))
	}
}

// A refusal overrides an earlier permission even if its reason is too long to be cached. Neither is cached afterwards.
func TestLongRefusalOverridesCachedPermission(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Hour})
		a := podsOf(person("alice"), "a")
		_ = outcome(r, t.Context(), a)
		<-time.After(decisionTTL)
		refused, err := json.Marshal(authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview"},
			Status:   authorizationv1.SubjectAccessReviewStatus{Reason: strings.Repeat("no ", maxKeptReason)},
		})
		if err != nil {
			t.Fatal(err)
		}
		j.set(func() { j.code, j.text = http.StatusCreated, string(refused) })
		if got := outcome(r, t.Context(), a); got != "denied" {
			t.Errorf("with a refusal: got %s, want denied", got)
		}
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		if got := outcome(r, t.Context(), a); got != "unavailable" {
			t.Errorf("in an outage after the refusal: got %s, want unavailable", got)
		}
		<-time.After(reviewTimeout)
	})
}

// While the upstream does not answer, earlier permissions stay valid for StaleOnError. Refusals stay refusals.
func TestPermissionStaysValidForStaleOnError(t *testing.T) {
	for name, fail := range map[string]func(*judge){
		"down":    func(j *judge) { j.fail = syscall.ECONNREFUSED },
		"500":     func(j *judge) { j.code = 500 },
		"refused": func(j *judge) { j.code = 403 },
		"hanging": func(j *judge) { j.wait = make(chan struct{}) },
	} {
		for _, stale := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprint(name, ", ", stale), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					j := newJudge()
					j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "admin" }
					r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: stale})
					admin, alice := podsOf(person("admin"), "a"), podsOf(person("alice"), "a")
					_, _ = outcome(r, t.Context(), admin), outcome(r, t.Context(), alice)
					began := time.Now()
					j.set(func() { fail(j) })
					for time.Since(began) < 2*time.Minute {
						at := time.Since(began)
						if got := outcome(r, t.Context(), admin); got != "granted" && at < decisionTTL+stale-2*time.Second {
							t.Fatalf("after %[2]s: got %[1]s, want granted", got, at)
						} else if got != "unavailable" && at >= decisionTTL+stale {
							t.Fatalf("after %[2]s: got %[1]s, want unavailable", got, at)
						}
						if got := outcome(r, t.Context(), alice); got == "granted" {
							t.Fatalf("after %s: got granted for a refused request", at)
						}
						<-time.After(time.Second)
					}
					<-time.After(reviewTimeout)
				})
			})
		}
	}
}

// A refusal takes effect immediately, and an outage after it does not restore the permission.
func TestRefusalEndsEarlierPermission(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Hour})
		a := podsOf(person("alice"), "a")
		_ = outcome(r, t.Context(), a)
		<-time.After(decisionTTL)
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := outcome(r, t.Context(), a); got != "denied" {
			t.Errorf("got %s, want denied", got)
		}
		<-time.After(decisionTTL)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		if got := outcome(r, t.Context(), a); got != "unavailable" {
			t.Errorf("in an outage: got %s, want unavailable", got)
		}
	})
}

// A user with ever new names costs the upstream at most the rate of one share, and affects no other user.
func TestFloodOfOneUserAffectsNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j})
		began := time.Now()
		others := make([]Attributes, 100)
		for i := range others {
			others[i] = podsOf(person(fmt.Sprint("user", i)), "a")
			_ = outcome(r, t.Context(), others[i])
		}
		j.total()
		mallory := person("mallory")
		left, leave := context.WithCancel(t.Context())
		leave()
		names := settings.Amount(3000, 100_000)
		for i := range names {
			a := podsOf(mallory, "a")
			a.Verb, a.Name = "get", fmt.Sprint("name", i)
			_, _ = r.Authorize(left, a)
			if i%(names/100) == 0 {
				<-time.After(90 * time.Millisecond) // 9 s in total
			}
		}
		<-time.After(time.Until(began.Add(decisionTTL - time.Millisecond)))
		for _, other := range others {
			if got := outcome(r, t.Context(), other); got != "granted" {
				t.Errorf("another user: got %s, want granted", got)
			}
		}
		if n := j.count("mallory"); n > 200+50*10 || n < 600 {
			t.Errorf("got %d reviews of one user, want 200 and 50 per second", n)
		}
		if n := j.count("user7"); n != 0 {
			t.Errorf("got %d reviews of a user with a cached decision, want none", n)
		}
		if kept := len(r.verdicts.byHash); kept > 800 {
			t.Errorf("got %d cached verdicts, want 800 at most", kept)
		}
		if got := outcome(r, t.Context(), podsOf(person("somebody new"), "a")); got != "granted" {
			t.Errorf("a new user: got %s, want granted", got)
		}
		<-time.After(seatWait + 5*time.Second) // until the queue is empty and the pace has returned
	})
}

// A share has at most a twentieth of all cached verdicts.
func TestShareEvictsItsOwnVerdicts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := NewReviews(ReviewsConfig{Upstream: newJudge()})
		keep := func(caller *Caller, i int) { allow(r, podsOf(caller, fmt.Sprint(i))) }
		alice := person("alice")
		for i := range 100 {
			keep(alice, i)
		}
		for i := range maxVerdictsShare + 1000 {
			keep(person("mallory"), i)
		}
		if n := len(r.verdicts.byHash); n != maxVerdictsShare+100 {
			t.Errorf("got %d cached verdicts, want the maximum of one share and 100 others", n)
		}
		for i := range 100 {
			a := podsOf(alice, fmt.Sprint(i))
			if _, ok := r.known(newQuestion(a, r.period())); !ok {
				t.Fatalf("verdict %d of another share was evicted", i)
			}
		}
		shares := settings.Amount(maxVerdicts/1000+10, maxVerdicts/1000*2)
		for i := range shares {
			for k := range 1000 {
				keep(person(fmt.Sprint(i)), k)
			}
			if n := len(r.verdicts.byHash); n > maxVerdicts {
				t.Fatalf("got %d cached verdicts, want maxVerdicts at most", n)
			}
		}
		if n := countSubjects(r); n != len(r.verdicts.byHash) || r.verdicts.all.Len() != len(r.verdicts.byHash) {
			t.Errorf("got %d subjects, %d listed verdicts and %d cached verdicts", n, r.verdicts.all.Len(), len(r.verdicts.byHash))
		}
	})
}

// Service accounts of a namespace together ask at most ten times as many questions as one of them.
func TestGroupRateBoundsReviews(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j, ShareRate: limit.Rate{PerSecond: 5, Burst: 20}})
		left, leave := context.WithCancel(t.Context())
		leave()
		questions := settings.Amount(3000, 10_000) // in ten seconds
		for i := range questions {
			if i%(questions/10) == 0 {
				<-time.After(time.Second)
			}
			_, _ = r.Authorize(left, podsOf(person(fmt.Sprintf("system:serviceaccount:ns:%d", i)), "a"))
		}
		if n := j.total(); n > 200+50*10 || n < 200+50*9-1 {
			t.Errorf("got %d reviews in ten seconds, want 200 and 50 per second", n)
		}
		<-time.After(seatWait + 5*time.Second)
	})
}

// After a change of permissions, cached verdicts are dropped. Answers to reviews from before it are not cached.
func TestChangeOfPermissionsDropsVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		before, after bool
		change        func(*Reviews, Affected)
		affected      Affected
		asksAgain     bool
	}{
		"lost, allowed":     {true, false, (*Reviews).Lost, named("alice"), true},
		"lost, denied":      {false, true, (*Reviews).Lost, named("alice"), true},
		"lost by another":   {true, true, (*Reviews).Lost, named("bob"), false},
		"lost here":         {true, false, (*Reviews).Lost, namedIn("alice", "a"), true},
		"lost elsewhere":    {true, true, (*Reviews).Lost, namedIn("alice", "b"), false},
		"gained, denied":    {false, true, (*Reviews).Gained, named("alice"), true},
		"gained, allowed":   {true, true, (*Reviews).Gained, named("alice"), false},
		"gained by another": {false, false, (*Reviews).Gained, named("bob"), false},
		"gained here":       {false, true, (*Reviews).Gained, namedIn("alice", "a"), true},
		"gained elsewhere":  {false, false, (*Reviews).Gained, namedIn("alice", "b"), false},
	} {
		for _, underWay := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", under way: ", underWay), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					j := newJudge()
					j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return c.before }
					r := NewReviews(ReviewsConfig{Upstream: j})
					a := podsOf(person("alice"), "a")
					first := make(chan struct{})
					if underWay {
						j.wait = first
					}
					go func() { _ = outcome(r, t.Context(), a) }()
					synctest.Wait()
					c.change(r, c.affected)
					j.set(func() { j.wait, j.allow = nil, func(authorizationv1.SubjectAccessReviewSpec) bool { return c.after } })
					want := map[bool]string{true: "granted", false: "denied"}[c.after]
					if c.asksAgain { // also while the earlier review is under way
						if got := outcome(r, t.Context(), a); got != want {
							t.Errorf("got %s, want %s", got, want)
						}
					}
					close(first)
					synctest.Wait()
					if got := outcome(r, t.Context(), a); got != want {
						t.Errorf("afterwards: got %s, want %s", got, want)
					}
					if n := j.total(); (n == 2) != c.asksAgain {
						t.Errorf("got %d reviews", n)
					}
				})
			})
		}
	}
}

// Only names that a namespace can have are stored with decisions: a caller may write a name of any length in a path.
func TestImpossibleNamespacesAreNotStored(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, alice := newJudge(), person("alice")
		r := NewReviews(ReviewsConfig{Upstream: j})
		longest := strings.Repeat("x", maxNamespace)
		all := []Attributes{podsOf(alice, longest), podsOf(alice, longest+"x"), podsOf(alice, longest+"y"), podsOf(alice, "")}
		for _, a := range all {
			_ = outcome(r, t.Context(), a)
		}
		if n := len(r.subjects.namespaces[longest]); n != 1 || len(r.subjects.namespaces) != 1 || countSubjects(r) != 2 {
			t.Errorf("got %d subjects in %d namespaces, want 2 in the namespaces %q and none",
				countSubjects(r), len(r.subjects.namespaces), longest)
		}
		j.total()
		r.Lost(named("alice"))
		for _, a := range all {
			_ = outcome(r, t.Context(), a)
		}
		if n := j.total(); n != len(all) {
			t.Errorf("got %d reviews after a change in the cluster, want %d", n, len(all))
		}
	})
}

func BenchmarkAuthorizeWarm(b *testing.B) {
	r := NewReviews(ReviewsConfig{Upstream: newJudge(), AllowedTTL: time.Hour})
	a := podsOf(NewCaller(&user.DefaultInfo{
		Name: "system:serviceaccount:kube-system:daemon", UID: "x", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}, ByToken, time.Time{}), "a")
	a.Fields = fields.ParseSelectorOrDie("spec.nodeName=n1").Requirements()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Authorize(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
