package handlers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// speechless is an upstream that allows everything until it stops responding.
type speechless struct{ silent atomic.Bool }

// Post implements auth.Upstream.
func (s *speechless) Post(ctx context.Context, _ string, _ []byte) (int, []byte, error) {
	if s.silent.Load() {
		<-ctx.Done()
		return 0, nil, ctx.Err()
	}
	return http.StatusCreated, []byte(`{"kind":"SubjectAccessReview","status":{"allowed":true}}`), nil
}

// Silent implements auth.Upstream.
func (*speechless) Silent() time.Duration { return 0 }

// A watch whose lifetime passes during a pending authorization ends without an error. It does not contain events since
// then.
func TestWatchEndsCleanlyDuringPendingAuthorization(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				upstream := &speechless{}
				reviews := auth.NewReviews(auth.ReviewsConfig{Upstream: upstream})
				ctx, cancel := context.WithCancel(t.Context())
				t.Cleanup(cancel)
				go reviews.Run(ctx)
				f := newFacade(t, func(c *Config) { c.Authenticator, c.Authorizer = named{}, reviews })
				if protocol == "HTTP/2.0" {
					f.client = f.http2
				}
				f.Put("ns/a", "before")
				began := time.Now()
				watch := f.as(t, "alice", "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=3")
				<-time.After(time.Second)
				upstream.silent.Store(true)
				reviews.Lost(auth.Affected{"": func(who user.Info) bool { return who.GetName() == "alice" }})
				f.Put("ns/a", "since")
				body, err := io.ReadAll(watch.Body)
				if took := time.Since(began); err != nil || took != 3*time.Second {
					t.Errorf("got %v after %s, want an end without an error after 3s", err, took)
				}
				if text := string(body); !strings.Contains(text, "before") || strings.Contains(text, "since") {
					t.Errorf("got %s", text)
				}
			})
		})
	}
}
