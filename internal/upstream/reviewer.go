package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// Reviewer sends TokenReviews and access reviews of callers to the upstream. It uses separate connections, so that
// lists and watches do not delay reviews. Safe for concurrent use.
type Reviewer struct{ client *Client }

// NewReviewer returns a reviewer with the address and credentials of config. Objects may be read with another address
// and other credentials. observers are notified of each review.
func NewReviewer(config *rest.Config, hop Hop, observers ...Observer) (*Reviewer, error) {
	client, err := NewClient(apart(config), hop, observers...)
	if err != nil {
		return nil, err
	}
	return &Reviewer{client: client}, nil
}

// Post sends a review in JSON. It returns the response's code and at most 1 MiB of its body.
func (r *Reviewer) Post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	return r.client.Post(ctx, path, body)
}

// Host returns the upstream's host and port.
func (r *Reviewer) Host() string { return r.client.Host() }

// Silent returns how long the upstream has answered none of the reviewer's requests, or 0 while it answers.
func (r *Reviewer) Silent() time.Duration { return r.client.Silent() }

const probeWait = 10 * time.Second

// Get reads a path. It returns the response's code and at most 1 MiB of its body, within 10 s.
func (r *Reviewer) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, r.client, r.client.http.Transport, path)
}

// AnonymousClient sends anonymous requests.
type AnonymousClient struct {
	client    *Client
	transport http.RoundTripper
}

// Anonymous returns a client of the same upstream without credentials. A 401 response means that the upstream does not
// accept anonymous callers, which is no failure. Observers are therefore not notified of these requests.
func (r *Reviewer) Anonymous() AnonymousClient {
	transport := r.client.anonymous
	transport.observers = nil
	return AnonymousClient{client: r.client, transport: transport}
}

// Get reads a path. It returns the response's code and at most 1 MiB of its body, within 10 s.
func (n AnonymousClient) Get(ctx context.Context, path string) (int, []byte, error) {
	return get(ctx, n.client, n.transport, path)
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
	// A body that is read to the end leaves the connection usable.
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxReview))
	if err != nil {
		return 0, nil, fmt.Errorf("read %s from the upstream: %w", path, err)
	}
	return answer.StatusCode, body, nil
}

// CloseIdle closes idle connections.
func (r *Reviewer) CloseIdle() { r.client.CloseIdle() }
