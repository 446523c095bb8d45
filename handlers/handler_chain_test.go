package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
)

// Every request ends at its timeout, including HEAD and forwarded requests.
func TestRequestsEndAtTimeout(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		method, target string
		limit          time.Duration
	}{
		{"HEAD", "/api/v1/namespaces/ns/configmaps/a", time.Minute},
		{"HEAD", "/api/v1/namespaces/ns/configmaps/a?timeout=2s", 2 * time.Second},
		{"HEAD", "/anything", time.Minute},
		{"GET", "/anything?timeout=2s", 2 * time.Second},
		{"GET", "/api/v1/namespaces/ns/configmaps/a?timeout=2s", 2 * time.Second},
	} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.Put("ns/a", "1")
			f.get(t, reads[0])
			f.Script("/api/v1/namespaces/ns/configmaps/a", hangs)
			f.Script("/anything", hangs)
			began := time.Now()
			response, body, err := f.try(t, c.method, c.target)
			if err != nil || response.StatusCode != http.StatusGatewayTimeout || time.Since(began) != c.limit {
				t.Errorf("%s %s: got %v after %s: %v", c.method, c.target, response, time.Since(began), err)
			}
			if c.method == "GET" && !strings.Contains(body, "request did not complete within the allotted timeout") {
				t.Errorf("%s: %s", c.target, body)
			}
		})
	}
}

// Discovery counts against the timeout of a request for an unknown resource.
func TestDiscoveryEndsAtTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		answers := make(chan struct{})
		f.Script("/api", func(w http.ResponseWriter, r *http.Request) {
			<-answers
			f.Truth(w, r)
		})
		began := time.Now()
		response, _ := f.get(t, "/api/v1/configmaps?timeout=1s")
		if response.StatusCode != http.StatusGatewayTimeout || time.Since(began) != time.Second {
			t.Errorf("got %d after %s", response.StatusCode, time.Since(began))
		}
		if waited := f.events.last().Waits[observe.Discovering]; waited != time.Second {
			t.Errorf("got a wait of %s for discovery", waited)
		}
		f.drain()
		began = time.Now()
		response, _ = f.get(t, "/api/v1/configmaps?watch=1")
		if response.StatusCode != http.StatusTooManyRequests || time.Since(began) != 0 {
			t.Errorf("a watch while the server drains: got %d after %s", response.StatusCode, time.Since(began))
		}
		close(answers)
		<-time.After(time.Minute) // discovery ends, with or without success
	})
}

// The timeout parameter of a long-running request is not parsed. The upstream refuses an unreadable request.
func TestIgnoredTimeoutParameters(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for _, c := range []struct {
			method, target string
			code           int
		}{
			{"POST", "/api/v1/namespaces/ns/pods/a/exec?timeout=1", http.StatusMethodNotAllowed},
			{"GET", "/api/v1/proxy/nodes/a?timeout=1", http.StatusMethodNotAllowed},
			{"GET", "/api/v1/namespaces/ns/pods/a/log?timeout=1", http.StatusNotFound},
			{"GET", "/api/v1/watch?timeout=1", http.StatusNotFound},
			{"GET", "/livez?timeout=1", http.StatusBadRequest},
		} {
			if response, body, err := f.try(t, c.method, c.target); err != nil || response.StatusCode != c.code {
				t.Errorf("%s %s: %v %s", c.method, c.target, err, body)
			}
		}
	})
}

// A malformed timeout is refused before the method is checked.
func TestMalformedTimeoutIsRefusedBeforeMethod(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		response, body, err := f.try(t, http.MethodPost, "/api/v1/namespaces/ns/configmaps?timeout=1")
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(body, "missing unit in duration") {
			t.Errorf("%v %s", err, body)
		}
	})
}

// A response that breaks off is reported as a panic, like in kube-apiserver, and not as a complete response.
func TestBrokenResponseIsReportedAsPanic(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script("/anything", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(usual))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		if _, body, err := f.try(t, http.MethodGet, "/anything"); err == nil {
			t.Errorf("got a complete response of %d bytes, want it to break off", len(body))
		}
		if e := f.events.last(); e.Panicked != http.ErrAbortHandler.Error() {
			t.Errorf("got %+v", e)
		}
		f.get(t, "/livez")
		if e := f.events.last(); e.Panicked != "" {
			t.Errorf("got %+v", e)
		}
	})
}

// Requests about the facade itself are authorized, too, and never forwarded.
func TestOwnPathsAreAuthorized(t *testing.T) {
	var asked []auth.Attributes
	deny := false
	authorizer := authorizerFunc(func(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
		asked = append(asked, a)
		if deny {
			return auth.Decision{}, &auth.DeniedError{}
		}
		return allower{}.Authorize(ctx, a)
	})
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	handler := New(Config{
		Log: zap.NewNop(), Observer: observe.Observers{}, Authenticator: authenticated{}, Authorizer: authorizer, Draining: t.Context(), Metrics: ok, Profiles: ok,
		Inflight: new(observe.Inflight), Clients: accounting.NewClients(nil),
	})
	for _, path := range []string{"/metrics", "/debug/pprof", "/debug/pprof/heap", "/debug/clients", "/debug/requests", "/debug/watches", "/healthz", "/livez/ping"} {
		for _, deny = range []bool{false, true} {
			asked = nil
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if len(asked) != 1 || asked[0].Path != path || asked[0].Verb != "get" || asked[0].Caller == nil {
				t.Errorf("%s: got attributes %+v", path, asked)
			}
			if denied := w.Code == http.StatusForbidden; denied != deny {
				t.Errorf("%s, denied %t: got %d %s", path, deny, w.Code, w.Body)
			}
			if w.Header().Get("Audit-Id") == "" {
				t.Errorf("%s: no Audit-Id", path)
			}
		}
	}
}

// authorizerFunc is an Authorizer.
type authorizerFunc func(context.Context, auth.Attributes) (auth.Decision, error)

// AuthorizeWatch implements Authorizer.
func (authorizerFunc) AuthorizeWatch(auth.Attributes) *auth.WatchAuthorization {
	return &auth.WatchAuthorization{}
}

// Authorize implements Authorizer.
func (f authorizerFunc) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	return f(ctx, a)
}
