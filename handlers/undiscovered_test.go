package handlers

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
)

// waysIn is an authenticator that trusts the user header, and returns callers of each kind.
type waysIn struct{}

// Authenticate implements Authenticator.
func (waysIn) Authenticate(r *http.Request) (*auth.Caller, error) {
	switch name := r.Header.Get(userHeader); name {
	case "anonymous":
		return auth.Anonymous(), nil
	case "certified":
		return auth.NewCaller(&user.DefaultInfo{Name: name}, auth.ByCertificate, time.Time{}), nil
	default:
		return auth.NewCaller(&user.DefaultInfo{Name: name}, auth.ByToken, time.Time{}), nil
	}
}

// For an unknown resource, discovery is read again only if the caller may read the resource. For other callers the
// request is forwarded or refused.
func TestUnknownResourcesAreDiscoveredForAuthorizedCallersOnly(t *testing.T) {
	const unknown = "/apis/unknown.example/v1/things"
	inBubble(t, func(t *testing.T, f *facade) {
		f.allow = func(a auth.Attributes) bool { return a.Group == "" || a.Caller.Name() == "admin" }
		f.Script(unknown, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		_ = f.as(t, "admin", reads[0])
		for name, code := range map[string]int{"anonymous": http.StatusTeapot, "alice": http.StatusTeapot, "certified": http.StatusForbidden} {
			before := f.Asked("/apis")
			for range 20 {
				<-time.After(2 * time.Second)
				if response := f.as(t, name, unknown); response.StatusCode != code {
					t.Errorf("%s: got %d, want %d", name, response.StatusCode, code)
				}
			}
			if n := f.Asked("/apis") - before; n != 0 {
				t.Errorf("%s: discovery was read %d times, want none", name, n)
			}
		}
		before := f.Asked("/apis")
		if response := f.as(t, "admin", unknown); response.StatusCode != http.StatusTeapot || f.events.last().Reason != observe.Undiscovered {
			t.Errorf("admin: got %d, want the upstream's answer", response.StatusCode)
		}
		if n := f.Asked("/apis") - before; n != 1 {
			t.Errorf("admin: discovery was read %d times, want once", n)
		}
	}, func(c *Config) { c.Authenticator = waysIn{} })
}

// An authorizer that fails for a moment does not mean that a resource does not exist.
func TestUndiscoveredResourcesAreNotDenied(t *testing.T) {
	for code, err := range map[int]error{
		http.StatusTooManyRequests:    &auth.BusyError{After: time.Second},
		http.StatusServiceUnavailable: &auth.UnavailableError{Err: io.EOF},
	} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.Put("ns/a", "1")
			if response := f.as(t, "certified", reads[0]); response.StatusCode != code {
				t.Errorf("got %d for an existing resource, want %d", response.StatusCode, code)
			}
			if response := f.as(t, "certified", reads[0]); response.StatusCode != http.StatusOK {
				t.Errorf("got %d afterwards, want 200", response.StatusCode)
			}
		}, func(c *Config) {
			c.Authenticator, c.Authorizer = waysIn{}, &unansweredOnce{Authorizer: c.Authorizer, err: err}
		})
	}
}

// unansweredOnce fails the first request.
type unansweredOnce struct {
	Authorizer
	err   error
	asked atomic.Int64
}

// Authorize implements Authorizer.
func (u *unansweredOnce) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	if u.asked.Add(1) == 1 {
		return auth.Decision{}, u.err
	}
	return u.Authorizer.Authorize(ctx, a)
}
