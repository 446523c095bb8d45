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

// The pace of reviews, as delegating API servers have it: what would ask more than that waits.
const (
	reviewsPerSecond = 200
	reviewsAtOnce    = 400
)

// Reviewer asks the upstream who callers are and what they may do, over connections of its own: a flood of questions
// holds up no watch.
type Reviewer struct {
	client *Client
	pace   *rate.Limiter
}

// NewReviewer makes a client of the kube-apiserver that config names.
func NewReviewer(config *rest.Config) (*Reviewer, error) {
	config = rest.CopyConfig(config)
	if config.Proxy == nil {
		config.Proxy = http.ProxyFromEnvironment // as without it, but that client-go shares no connections then
	}
	client, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	return &Reviewer{client: client, pace: rate.NewLimiter(reviewsPerSecond, reviewsAtOnce)}, nil
}

// Post sends a JSON body to a path of the upstream and returns the answer's code and at most 64 KiB of its body. It
// waits for its turn. Its errors hold nothing of the body.
func (r *Reviewer) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	if err := r.pace.Wait(ctx); err != nil {
		return 0, nil, fmt.Errorf("wait for a review's turn: %w", err)
	}
	return r.client.Post(ctx, path, body)
}

// Unheard is how long the upstream has not answered any question; 0 while it does.
func (r *Reviewer) Unheard() time.Duration { return r.client.Unheard() }

// CloseIdle closes the connections that no question uses.
func (r *Reviewer) CloseIdle() { r.client.CloseIdle() }

// maxConfig bounds what is read of a path: a ConfigMap has 1 MiB at most.
const maxConfig = 2 << 20

// Get reads a path, and returns the answer's code and at most 2 MiB of its body.
func (r *Reviewer) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, r.client, r.client.http.Transport, path)
}

// Nameless reads as somebody without credentials does.
type Nameless struct{ client *Client }

// Nameless asks the same upstream.
func (r *Reviewer) Nameless() Nameless { return Nameless{client: r.client} }

// Get reads a path, and returns the answer's code and at most 2 MiB of its body.
func (n Nameless) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, n.client, n.client.nameless, path)
}

func get(ctx context.Context, client *Client, transport http.RoundTripper, path string) (int, []byte, error) {
	request, err := client.request(ctx, Target{Path: path}, MediaJSON)
	if err != nil {
		return 0, nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, fmt.Errorf("reach the upstream: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxConfig))
	if err != nil {
		return 0, nil, fmt.Errorf("read the upstream's answer: %w", err)
	}
	return response.StatusCode, body, nil
}
