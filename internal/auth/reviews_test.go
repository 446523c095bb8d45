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

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// judge is an upstream that decides on each review by a function, and counts them.
type judge struct {
	mu     sync.Mutex // guards the rest
	allow  func(authorizationv1.SubjectAccessReviewSpec) bool
	fail   error         // what there is instead of an answer
	code   int           // if not 0, the code of the answer
	text   string        // if not "", its body
	wait   chan struct{} // if not nil, answers come when it is closed
	asked  map[string]int
	latest time.Time // when the last was asked
}

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
	allowed := j.allow == nil || j.allow(review.Spec)
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
	answer, err := json.Marshal(authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview"}, Status: authorizationv1.SubjectAccessReviewStatus{
		Allowed: allowed, Reason: "says the judge",
	}})
	return http.StatusCreated, answer, err
}

// Silent implements Upstream.
func (j *judge) Silent() time.Duration { return 0 }

func (j *judge) set(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
}

// count is how many reviews of a user there were since count or total was last called.
func (j *judge) count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.asked[name]
	delete(j.asked, name)
	return n
}

// total is how many there were of all.
func (j *judge) total() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, each := range j.asked {
		n += each
	}
	clear(j.asked)
	return n
}

// last is when the last review was asked.
func (j *judge) last() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.latest
}

func person(name string, groups ...string) *Caller {
	return NewCaller(&user.DefaultInfo{Name: name, Groups: groups}, ByCertificate, time.Time{})
}

// allow is as if a review had allowed it.
func allow(r *Reviews, a Attributes) {
	q := newQuestion(a, a.key())
	who, asked := r.begin(q)
	defer r.leave(who)
	r.keep(q, who, asked, answer{allowed: true})
}

// podsOf asks for the pods of a namespace.
func podsOf(who *Caller, namespace string) Attributes {
	return Attributes{Caller: who, Verb: "watch", Version: "v1", Resource: "pods", Namespace: namespace}
}

func named(name string) func(user.Info) bool {
	return func(who user.Info) bool { return who.GetName() == name }
}

// how says in a word how a question ended.
func how(r *Reviews, ctx context.Context, a Attributes) string { //nolint:revive // the context is an argument of what is asked
	decision, err := r.Authorize(ctx, a)
	var (
		unavailable *UnavailableError
		busy        *BusyError
	)
	switch {
	case decision.Covers(a) != (err == nil):
		return "a grant that does not fit its error"
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

// The question is who asks, with all that may matter, and exactly what is to be read, selectors included.
func TestSubjectAccessReview(t *testing.T) {
	fieldSelector := fields.ParseSelectorOrDie("spec.nodeName=n1")
	labelSelector, err := labels.ParseToRequirements("a in (b,c),!d")
	if err != nil {
		t.Fatal(err)
	}
	who := NewCaller(&user.DefaultInfo{
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
			Caller: who, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Namespace: "ns", Name: "n",
			Fields: fieldSelector.Requirements(), Labels: labelSelector,
		}, resource},
		"a requirement of no field": {Attributes{
			Caller: who, Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Namespace: "ns", Name: "n",
			Fields: append(fields.ParseSelectorOrDie("=x,!=y").Requirements(), fieldSelector.Requirements()...), Labels: labelSelector,
		}, resource},
		"path": {Attributes{Caller: who, Verb: "get", Path: "/metrics"}, path},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			j.allow = func(got authorizationv1.SubjectAccessReviewSpec) bool {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				return true
			}
			if got := how(NewReviews(ReviewsConfig{Upstream: j}), t.Context(), c.asked); got != "granted" {
				t.Error(got)
			}
		})
	}
}

func TestReviewsAnswers(t *testing.T) {
	const status = `{"kind":"Status","details":{"retryAfterSeconds":1}}`
	for name, c := range map[string]struct {
		code  int
		body  string
		err   error
		want  string
		asked int
	}{
		"allowed":             {201, yes, nil, "granted", 1},
		"denied":              {201, no, nil, "denied", 1},
		"both":                {201, `{"kind":"SubjectAccessReview","status":{"allowed":true,"denied":true}}`, nil, "denied", 1},
		"no status":           {201, `{"kind":"SubjectAccessReview"}`, nil, "denied", 1},
		"no review":           {201, `{}`, nil, "unavailable", 1},
		"a Status":            {200, status, nil, "unavailable", 1},
		"garbage":             {201, `<html>`, nil, "unavailable", 1},
		"refused":             {403, yes, nil, "unavailable", 1},
		"unauthorized":        {401, yes, nil, "unavailable", 1},
		"invalid":             {422, yes, nil, "unavailable", 1},
		"unavailable":         {503, yes, nil, "unavailable", 1},
		"broken":              {500, yes, nil, "unavailable", 3},
		"busy":                {429, "Too many requests, please try again later.", nil, "unavailable", 2},
		"busy for a second":   {429, status, nil, "unavailable", 2},
		"busy for a minute":   {429, strings.Replace(status, "1}", "60}", 1), nil, "unavailable", 1},
		"connection refused":  {0, "", syscall.ECONNREFUSED, "unavailable", 1},
		"connection reset":    {0, "", syscall.ECONNRESET, "unavailable", 3},
		"connection ended":    {0, "", io.ErrUnexpectedEOF, "unavailable", 1},
		"nobody answers ever": {0, "", context.DeadlineExceeded, "unavailable", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJudge()
				j.code, j.text, j.fail = c.code, c.body, c.err
				began := time.Now()
				if got := how(NewReviews(ReviewsConfig{Upstream: j}), t.Context(), podsOf(person("alice"), "a")); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				if n := j.total(); n != c.asked || time.Since(began) > retryWithin {
					t.Errorf("%d reviews in %s, want %d", n, time.Since(began), c.asked)
				}
			})
		})
	}
}

// What goes wrong once and passes is not heard of.
func TestReviewsTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		j.fail = syscall.ECONNRESET
		r := NewReviews(ReviewsConfig{Upstream: j})
		go func() {
			synctest.Wait()
			j.set(func() { j.fail = nil })
		}()
		if got := how(r, t.Context(), podsOf(person("alice"), "a")); got != "granted" {
			t.Error(got)
		}
	})
}

func TestDenialHasItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false }
		r := NewReviews(ReviewsConfig{Upstream: j})
		for range 2 { // the second time it is a kept one
			_, err := r.Authorize(t.Context(), podsOf(person("alice"), "a"))
			var denied *DeniedError
			if !errors.As(err, &denied) || denied.Reason != "says the judge" {
				t.Errorf("%v", err)
			}
		}
		if n := j.total(); n != 1 {
			t.Errorf("%d reviews", n)
		}
	})
}

// Who needs no review, and who does.
func TestReviewsAreNotNeeded(t *testing.T) {
	alice, root := person("alice", "people"), person("root", "people", "rescue")
	path := func(who *Caller, path string) Attributes { return Attributes{Caller: who, Verb: "get", Path: path} }
	passed := podsOf(alice, "a")
	passed.PassedThrough = true
	resource := podsOf(alice, "a")
	resource.Path = "/readyz"
	for name, c := range map[string]struct {
		asked Attributes
		want  string
		posts int
	}{
		"passed through":        {passed, "granted", 0},
		"a resource":            {podsOf(alice, "a"), "denied", 1},
		"with a path":           {resource, "denied", 1},
		"/readyz":               {path(alice, "/readyz"), "granted", 0},
		"below /readyz":         {path(alice, "/readyz/ping"), "granted", 0},
		"beside /readyz":        {path(alice, "/readyzping"), "denied", 1},
		"/metrics":              {path(alice, "/metrics"), "denied", 1},
		"of an allowed group":   {podsOf(root, "a"), "granted", 0},
		"path of that group":    {path(root, "/metrics"), "granted", 0},
		"no verb":               {Attributes{Caller: root, Version: "v1", Resource: "pods"}, "denied", 0},
		"no caller":             {Attributes{Verb: "get", Path: "/readyz"}, "denied", 0},
		"no verb, passed along": {Attributes{Caller: root, Path: "/x", PassedThrough: true}, "denied", 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false }
			r := NewReviews(ReviewsConfig{Upstream: j, AlwaysAllowGroups: []string{"rescue"}})
			if got := how(r, t.Context(), c.asked); got != c.want || j.total() != c.posts {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestManyCallersAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
				if got := how(r, t.Context(), podsOf(person(name), "a")); got != want {
					t.Errorf("%s: %s", name, got)
				}
			})
		}
		synctest.Wait()
		close(j.wait)
		wait.Wait()
		if n := j.total(); n != 2 {
			t.Errorf("%d reviews", n)
		}
	})
}

// Both kinds of decision hold for their own time.
func TestReviewsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "admin" }
		r := NewReviews(ReviewsConfig{Upstream: j, AllowedTTL: 20 * time.Second, DeniedTTL: 5 * time.Second})
		for range 60 {
			for _, name := range []string{"admin", "alice"} {
				_ = how(r, t.Context(), podsOf(person(name), "a"))
			}
			<-time.After(time.Second)
		}
		if admin, alice := j.count("admin"), j.count("alice"); admin != 3 || alice != 12 {
			t.Errorf("%d reviews of what is allowed, %d of what is not", admin, alice)
		}
		if len(r.identities) != len(r.verdicts.byHash) {
			t.Errorf("%d identities of %d verdicts", len(r.identities), len(r.verdicts.byHash))
		}
	})
}

// A question longer than any sensible one is answered, and not kept.
func TestLongQuestions(t *testing.T) {
	j := newJudge()
	j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.ResourceAttributes.FieldSelector != nil }
	r := NewReviews(ReviewsConfig{Upstream: j})
	a := podsOf(person("alice"), "a")
	a.Fields = fields.Requirements{{Field: "metadata.name", Operator: "=", Value: strings.Repeat("x", maxKeptKey)}}
	for range 2 {
		if got := how(r, t.Context(), a); got != "granted" {
			t.Error(got)
		}
	}
	if n := j.total(); n != 3 || len(r.verdicts.byHash) != 1 { // that all of them may not be read
		t.Errorf("%d reviews, %d kept", n, len(r.verdicts.byHash))
	}
}

// What was allowed is not, once it was refused, however long the reason is: that is not kept, and what it takes back
// is not, either.
func TestLongRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Hour})
		a := podsOf(person("alice"), "a")
		_ = how(r, t.Context(), a)
		<-time.After(decisionTTL)
		refused, err := json.Marshal(authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview"},
			Status:   authorizationv1.SubjectAccessReviewStatus{Reason: strings.Repeat("no ", maxKeptReason)},
		})
		if err != nil {
			t.Fatal(err)
		}
		j.set(func() { j.code, j.text = http.StatusCreated, string(refused) })
		if got := how(r, t.Context(), a); got != "denied" {
			t.Errorf("refused: %s", got)
		}
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		if got := how(r, t.Context(), a); got != "unavailable" {
			t.Errorf("afterwards: %s", got)
		}
		<-time.After(reviewTimeout)
	})
}

// While the upstream cannot be asked, what was allowed is, for as long as was configured; and nothing else.
func TestStaleOnError(t *testing.T) {
	for name, fail := range map[string]func(*judge){
		"down":    func(j *judge) { j.fail = syscall.ECONNREFUSED },
		"500":     func(j *judge) { j.code = 500 },
		"refused": func(j *judge) { j.code = 403 },
		"hanging": func(j *judge) { j.wait = make(chan struct{}) },
	} {
		for _, stale := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprint(name, ", ", stale), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJudge()
					j.allow = func(s authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "admin" }
					r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: stale})
					admin, alice := podsOf(person("admin"), "a"), podsOf(person("alice"), "a")
					_, _ = how(r, t.Context(), admin), how(r, t.Context(), alice)
					began := time.Now()
					j.set(func() { fail(j) })
					for time.Since(began) < 2*time.Minute {
						at := time.Since(began)
						if got := how(r, t.Context(), admin); got != "granted" && at < decisionTTL+stale-2*time.Second {
							t.Fatalf("what was allowed is %s after %s", got, at)
						} else if got != "unavailable" && at >= decisionTTL+stale {
							t.Fatalf("what was allowed is %s after %s", got, at)
						}
						if got := how(r, t.Context(), alice); got == "granted" {
							t.Fatalf("what was denied is granted after %s", at)
						}
						<-time.After(time.Second)
					}
					<-time.After(reviewTimeout)
				})
			})
		}
	}
}

// A denial counts at once, also where errors would not.
func TestDenialEndsWhatWasAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j, StaleOnError: time.Hour})
		a := podsOf(person("alice"), "a")
		_ = how(r, t.Context(), a)
		<-time.After(decisionTTL)
		j.set(func() { j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return false } })
		if got := how(r, t.Context(), a); got != "denied" {
			t.Error(got)
		}
		<-time.After(decisionTTL)
		j.set(func() { j.fail = syscall.ECONNREFUSED })
		if got := how(r, t.Context(), a); got != "unavailable" {
			t.Error(got)
		}
	})
}

// One user who asks for ever new names costs the upstream what its rate allows, and is the only one to notice.
func TestRandomNamesOfOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j})
		began := time.Now()
		others := make([]Attributes, 100)
		for i := range others {
			others[i] = podsOf(person(fmt.Sprint("user", i)), "a")
			_ = how(r, t.Context(), others[i])
		}
		j.total()
		mallory := person("mallory")
		var busy int
		names := settings.Amount(20_000, 100_000)
		for i := range names {
			a := podsOf(mallory, "a")
			a.Verb, a.Name = "get", fmt.Sprint("name", i)
			if got := how(r, t.Context(), a); got == "busy" {
				busy++
			}
			if i%(names/100) == 0 {
				<-time.After(90 * time.Millisecond) // 9 s in all
			}
		}
		<-time.After(time.Until(began.Add(decisionTTL - time.Millisecond)))
		for _, other := range others {
			if got := how(r, t.Context(), other); got != "granted" {
				t.Errorf("another user is %s", got)
			}
		}
		if n := j.count("mallory"); n > 200+50*9 || n < 600 || busy != names-n {
			t.Errorf("%d reviews of one user, busy %d times", n, busy)
		}
		if n := j.count("user7"); n != 0 {
			t.Errorf("%d reviews of another, whose decision is kept", n)
		}
		if kept := len(r.verdicts.byHash); kept > 800 {
			t.Errorf("%d verdicts are kept", kept)
		}
		if got := how(r, t.Context(), podsOf(person("somebody new"), "a")); got != "granted" {
			t.Errorf("a new one is %s", got)
		}
	})
}

// However fast one may ask, its share of what is kept is a twentieth.
func TestShareOfVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReviews(ReviewsConfig{Upstream: newJudge()})
		keep := func(who *Caller, i int) { allow(r, podsOf(who, fmt.Sprint(i))) }
		alice := person("alice")
		for i := range 100 {
			keep(alice, i)
		}
		for i := range 10_000 {
			keep(person("mallory"), i)
		}
		if n := len(r.verdicts.byHash); n != maxVerdictsShare+100 {
			t.Errorf("%d are kept", n)
		}
		for i := range 100 {
			a := podsOf(alice, fmt.Sprint(i))
			if _, ok := r.known(newQuestion(a, a.key())); !ok {
				t.Fatalf("%d was pushed out", i)
			}
		}
		for i := range maxVerdicts / 1000 * 2 {
			for k := range 1000 {
				keep(person(fmt.Sprint(i)), k)
			}
			if n := len(r.verdicts.byHash); n > maxVerdicts {
				t.Fatalf("%d are kept", n)
			}
		}
		if len(r.identities) > 70 || r.verdicts.all.Len() != len(r.verdicts.byHash) {
			t.Errorf("%d identities, %d in line, %d kept", len(r.identities), r.verdicts.all.Len(), len(r.verdicts.byHash))
		}
	})
}

func TestTotalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j})
		for i := range 20_000 {
			if i%2000 == 0 {
				<-time.After(time.Second)
			}
			_ = how(r, t.Context(), podsOf(person(fmt.Sprint(i)), "a"))
		}
		if n := j.total(); n > 300+150*10 || n < 300+150*9 {
			t.Errorf("%d reviews in ten seconds", n)
		}
		if n := len(r.misses.young) + len(r.misses.old); n > 300+150*10 {
			t.Errorf("%d limiters", n)
		}
	})
}

// What is known is no longer when rights have changed, nor is what was asked for before and comes after.
func TestChangesOfRights(t *testing.T) {
	for name, c := range map[string]struct {
		before, after bool
		change        func(*Reviews, func(user.Info) bool)
		affected      string
		asksAgain     bool
	}{
		"lost, allowed":     {true, false, (*Reviews).Lost, "alice", true},
		"lost, denied":      {false, true, (*Reviews).Lost, "alice", true},
		"lost by another":   {true, true, (*Reviews).Lost, "bob", false},
		"gained, denied":    {false, true, (*Reviews).Gained, "alice", true},
		"gained, allowed":   {true, true, (*Reviews).Gained, "alice", false},
		"gained by another": {false, false, (*Reviews).Gained, "bob", false},
	} {
		for _, underWay := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", under way: ", underWay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJudge()
					j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool { return c.before }
					r := NewReviews(ReviewsConfig{Upstream: j})
					a := podsOf(person("alice"), "a")
					first := make(chan struct{})
					if underWay {
						j.wait = first
					}
					go func() { _ = how(r, t.Context(), a) }()
					synctest.Wait()
					c.change(r, named(c.affected))
					j.set(func() { j.wait, j.allow = nil, func(authorizationv1.SubjectAccessReviewSpec) bool { return c.after } })
					want := map[bool]string{true: "granted", false: "denied"}[c.after]
					if c.asksAgain { // also while the answer of before is awaited
						if got := how(r, t.Context(), a); got != want {
							t.Error(got)
						}
					}
					close(first)
					synctest.Wait()
					if got := how(r, t.Context(), a); got != want {
						t.Errorf("%s, want %s", got, want)
					}
					if n := j.total(); (n == 2) != c.asksAgain {
						t.Errorf("%d reviews", n)
					}
				})
			})
		}
	}
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
