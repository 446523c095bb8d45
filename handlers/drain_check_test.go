package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
)

// After the shutdown, the server serves probes and metrics, and refuses all other requests like kube-apiserver.
func TestRequestsAreRefusedAfterShutdown(t *testing.T) {
	var leave context.CancelFunc
	inBubble(t, func(t *testing.T, f *facade) {
		if response, body := f.get(t, "/api/v1/configmaps"); response.StatusCode != http.StatusOK {
			t.Errorf("before the shutdown: got %s %s", response.Status, body)
		}
		leave()
		for _, path := range []string{"/api/v1/configmaps", "/apis", "/nothing"} {
			response, body := f.get(t, path)
			if response.StatusCode != http.StatusTooManyRequests || body != "The apiserver is shutting down, please try again later.\n" || !response.Close {
				t.Errorf("%s: got %s %s, close %t", path, response.Status, body, response.Close)
			}
			for name, want := range map[string]string{"Retry-After": "5", "Content-Type": "text/plain; charset=utf-8", "Cache-Control": ""} {
				if got := response.Header.Get(name); got != want {
					t.Errorf("%s: %s: got %q, want %q", path, name, got, want)
				}
			}
			if e := f.events.last(); e.Code != http.StatusTooManyRequests {
				t.Errorf("%s: got code %d in the event", path, e.Code)
			}
		}
		for _, path := range []string{"/readyz", "/livez", "/healthz/ping", "/metrics"} {
			if response, body := f.get(t, path); response.StatusCode == http.StatusTooManyRequests {
				t.Errorf("%s: %s %s", path, response.Status, body)
			}
		}
	}, func(c *Config) { c.Leaving, leave = context.WithCancel(context.Background()) })
}

// Only HTTP/2 clients are made to reconnect, and only if it is configured.
func TestGoawayIsForHTTP2Only(t *testing.T) {
	for _, c := range []struct {
		protocol int
		chance   float64
		want     string
	}{{1, 1, ""}, {2, 0, ""}, {2, 1, "close"}} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		r.ProtoMajor = c.protocol
		out := newReply(httptest.NewRecorder(), r, zap.NewNop(), time.Minute)
		d := drainCheck{goaway: c.chance}
		if err := d.enter(out); err != nil || out.header().Get("Connection") != c.want {
			t.Errorf("HTTP/%d with %v: got %q, %v", c.protocol, c.chance, out.header().Get("Connection"), err)
		}
	}
}
