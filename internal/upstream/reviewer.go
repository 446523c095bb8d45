package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

// How often the upstream is asked who somebody is and what he may do: as often as apiserver's own delegated
// authorizers ask (DelegatingAuthorizationOptions).
const (
	reviewsPerSecond = 200
	reviewBurst      = 400
)

// Reviewer asks the upstream who callers are and what they may do, over connections of its own: no list or watch holds
// its questions up. Safe for concurrent use.
type Reviewer struct {
	client *Client
	pace   *rate.Limiter
}

// NewReviewer makes a reviewer that asks with the credentials of config, which may be others than those that objects
// are read with, of another address of the upstream. observers are told of each question.
func NewReviewer(config *rest.Config, hop Hop, observers ...Observer) (*Reviewer, error) {
	client, err := NewClient(apart(config), hop, observers...)
	if err != nil {
		return nil, err
	}
	return &Reviewer{client: client, pace: rate.NewLimiter(reviewsPerSecond, reviewBurst)}, nil
}

// Post asks a question in JSON, when it is its turn, and returns the answer's code and at most 1 MiB of its body. It
// fails with a *NotSentError at once when the turn comes after the context's deadline.
func (r *Reviewer) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	if err := r.pace.Wait(ctx); err != nil {
		return 0, nil, &NotSentError{Err: err}
	}
	return r.client.Post(ctx, path, body)
}

// Silent is how long the upstream has answered none of the reviewer's questions; 0 while it answers.
func (r *Reviewer) Silent() time.Duration { return r.client.Silent() }

// Unpaced asks as a Reviewer does, without waiting for a turn.
type Unpaced struct{ client *Client }

// Unpaced is for who keeps to a pace of his own, which no storm of other questions is to hold up.
func (r *Reviewer) Unpaced() Unpaced { return Unpaced{client: r.client} }

// Post asks a question in JSON, and returns the answer's code and at most 1 MiB of its body.
func (u Unpaced) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	return u.client.Post(ctx, path, body)
}

// Silent is how long the upstream has answered none of the reviewer's questions; 0 while it answers.
func (u Unpaced) Silent() time.Duration { return u.client.Silent() }

// probeWait is how long the upstream may take to say how it answers to nobody.
const probeWait = 10 * time.Second

// Get reads a path, and returns the answer's code and at most 1 MiB of its body, within 10 s.
func (r *Reviewer) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, r.client, r.client.http.Transport, path)
}

// Nameless reads as somebody without credentials does.
type Nameless struct{ client *Client }

// Nameless asks the same upstream. Whether it answers 401 tells whether it lets anonymous callers in.
func (r *Reviewer) Nameless() Nameless { return Nameless{client: r.client} }

// Get reads a path, and returns the answer's code and at most 1 MiB of its body, within 10 s.
func (n Nameless) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, n.client, n.client.anonymous, path)
}

func get(ctx context.Context, client *Client, transport http.RoundTripper, path string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	request, err := client.request(ctx, Target{Path: path}, MediaJSON)
	if err != nil {
		return 0, nil, err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, &UnreachableError{Err: err}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxReview)) // to its end, so that the connection can be used again
	if err != nil {
		return 0, nil, fmt.Errorf("read %s from the upstream: %w", path, err)
	}
	return answer.StatusCode, body, nil
}

// CloseIdle closes the connections that no question uses.
func (r *Reviewer) CloseIdle() { r.client.CloseIdle() }
