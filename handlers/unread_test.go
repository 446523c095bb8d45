package handlers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
)

// A request whose announced body is never sent keeps neither the response nor the caller's seat.
func TestUnsentBodyKeepsNoSeat(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", strings.Repeat("x", 64<<10))
		began := time.Now()
		for _, target := range []string{allOfThem + "?resourceVersion=0", allOfThem + "?watch=1&timeoutSeconds=1"} {
			announced, never := io.Pipe()
			defer func() { _ = never.Close() }()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, announced)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = 10
			response, err := f.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d, %v", target, response.StatusCode, err)
			}
			_ = response.Body.Close()
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("got a response after %s", took)
		}
	}, func(c *Config) { c.Limits = Limits{Requests: 1, RequestsPerUser: 1} })
}

// A self review waits for its body in its caller's seat, for a limited time.
func TestUnsentReviewEndsAtTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		send := func(ctx context.Context) (int, error) {
			announced, never := io.Pipe()
			defer func() { _ = never.Close() }()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://facade.test/apis/authentication.k8s.io/v1/selfsubjectreviews", announced)
			if err != nil {
				return 0, err
			}
			r.ContentLength = 10
			response, err := f.http2.Do(r)
			if err != nil {
				return 0, err
			}
			defer response.Body.Close()
			_, err = io.Copy(io.Discard, response.Body)
			return response.StatusCode, err
		}
		began := time.Now()
		if code, err := send(t.Context()); code != http.StatusBadRequest {
			t.Errorf("got %d %v after %s", code, err, time.Since(began))
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("got a response after %s", took)
		}
	}, func(c *Config) { c.Authenticator = callerOrError{caller: alice(auth.ByCertificate)} })
}
