package handlers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/observe"
)

// Probes have kube-apiserver's format (semantics 8.3).
func TestHealth(t *testing.T) {
	var broken error
	progress := ""
	handler := New(Config{Log: zap.NewNop(), Observer: observe.Observers{}, Authenticator: authenticated{}, Authorizer: allower{}, Draining: t.Context(), Checks: []Check{
		{Name: "ping", Probes: []string{"healthz", "livez", "readyz"}, Healthy: func() error { return nil }},
		{Name: "discovery", Probes: []string{"readyz"}, Healthy: func() error { return broken }, Progress: func() string { return progress }},
	}})
	secret := errors.New("dial tcp 10.0.0.1: secret")
	for _, c := range []struct {
		method, path string
		broken       error
		code         int
		body         string
	}{
		{"GET", "/healthz", nil, 200, "ok"},
		{"GET", "/livez", secret, 200, "ok"},
		{"POST", "/readyz", nil, 200, "ok"},
		{"GET", "/readyz?verbose", nil, 200, "[+]ping ok\n[+]discovery ok\nreadyz check passed\n"},
		{"GET", "/livez?verbose", secret, 200, "[+]ping ok\nlivez check passed\n"},
		{"GET", "/readyz", secret, 500, "[+]ping ok\n[-]discovery failed: reason withheld\nreadyz check failed\n"},
		{"GET", "/readyz?exclude=discovery", secret, 200, "ok"},
		{"GET", "/readyz?verbose&exclude=discovery&exclude=x", secret, 200, "[+]ping ok\nreadyz check passed\n"},
		{"GET", "/readyz/ping", secret, 200, "ok"},
		{"GET", "/readyz/discovery", secret, 500, ""},
		{"GET", "/livez/discovery", nil, 404, "404 page not found\n"},
		{"GET", "/healthz/nope", nil, 404, "404 page not found\n"},
	} {
		broken = c.broken
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.code || c.body != "" && w.Body.String() != c.body || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: got %d %q %v", c.method, c.path, w.Code, w.Body, w.Header())
		}
		if w.Code != http.StatusOK && w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no nosniff", c.path)
		}
	}
	progress, broken = "61% filled, about 3s left", secret
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
	if want := "[+]ping ok\n[-]discovery failed: reason withheld (61% filled, about 3s left)\nreadyz check failed\n"; w.Body.String() != want {
		t.Errorf("got %q, want %q", w.Body, want)
	}
}
