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
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// reviewer is an upstream that reviews tokens.
type reviewer struct {
	asked atomic.Int64
	mu    sync.Mutex
	users map[string]authenticationv1.UserInfo
	// does, if not nil, answers reviews in place of users.
	does func(ctx context.Context, review authenticationv1.TokenReview) (int, []byte, error)
}

func knows(users map[string]string) *reviewer {
	r := &reviewer{users: map[string]authenticationv1.UserInfo{}}
	for token, name := range users {
		r.users[token] = authenticationv1.UserInfo{Username: name}
	}
	return r
}

func (r *reviewer) do(does func(context.Context, authenticationv1.TokenReview) (int, []byte, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.does = does
}

func (r *reviewer) answers(code int, body string) {
	r.do(func(context.Context, authenticationv1.TokenReview) (int, []byte, error) {
		return code, []byte(body), nil
	})
}

// Post implements TokenReviewer as kube-apiserver does: the response repeats the token, and has an error for an unknown
// one.
func (r *reviewer) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	r.asked.Add(1)
	if path != "/apis/authentication.k8s.io/v1/tokenreviews" {
		return 404, nil, nil
	}
	var review authenticationv1.TokenReview
	if err := json.Unmarshal(body, &review); err != nil {
		return 400, nil, nil
	}
	r.mu.Lock()
	does := r.does
	r.mu.Unlock()
	if does != nil {
		return does(ctx, review)
	}
	return r.answerTo(review)
}

// answerTo answers a review by the known users.
func (r *reviewer) answerTo(review authenticationv1.TokenReview) (int, []byte, error) {
	r.mu.Lock()
	user, ok := r.users[review.Spec.Token]
	r.mu.Unlock()
	review.Status.Authenticated, review.Status.User, review.Status.Audiences = ok, user, []string{"https://kubernetes.default.svc"}
	if !ok {
		review.Status = authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, " + review.Spec.Token + "]"}
	}
	answer, err := json.Marshal(review)
	return http.StatusCreated, answer, err
}

func hangs(ctx context.Context, _ authenticationv1.TokenReview) (int, []byte, error) {
	<-ctx.Done()
	return 0, nil, ctx.Err()
}

// pages is an upstream with fixed responses by path.
type pages struct {
	mu    sync.Mutex
	pages map[string]page
	asked int
}

type page struct {
	code int
	body string
}

var errGone = errors.New("connection refused")

func (p *pages) set(path string, code int, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil {
		p.pages = map[string]page{}
	}
	p.pages[path] = page{code, body}
}

// Get implements Getter. It fails for unknown paths.
func (p *pages) Get(_ context.Context, path string) (int, []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	found, ok := p.pages[path]
	if !ok {
		return 0, nil, errGone
	}
	return found.code, []byte(found.body), nil
}

// requests returns how often Get was called.
func (p *pages) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// counted is an Outcomes that records its calls.
type counted struct {
	mu       sync.Mutex
	attempts map[Result]int
	reviews  map[Result]int
	tokens   map[Means]int
}

// Attempted implements Outcomes.
func (c *counted) Attempted(result Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts[result]++
}

// Reviewed implements Outcomes.
func (c *counted) Reviewed(result Result, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews[result]++
}

// TokenAccepted implements Outcomes.
func (c *counted) TokenAccepted(by Means) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[by]++
}

func newCounted() *counted {
	return &counted{attempts: map[Result]int{}, reviews: map[Result]int{}, tokens: map[Means]int{}}
}

// result describes the result of an authentication: the way and the name, or the status code of the error.
func result(caller *Caller, err error) string {
	var unavailable *UnavailableError
	var busy *BusyError
	switch {
	case caller != nil && err != nil:
		return fmt.Sprintf("both %v and %v", caller, err)
	case err == nil:
		return map[Way]string{ByFrontProxy: "proxy:", ByCertificate: "cert:", ByToken: "token:", Anonymously: "anonymous:"}[caller.Way] + caller.Name()
	case errors.Is(err, ErrUnauthenticated):
		return "401"
	case errors.As(err, &unavailable):
		return "503"
	case errors.As(err, &busy):
		return "429"
	default:
		return err.Error()
	}
}

func expect(t testing.TB, what, want string, caller *Caller, err error) {
	t.Helper()
	if got := result(caller, err); got != want {
		t.Errorf("%s: got %s (%v), want %s", what, got, err, want)
	}
}
