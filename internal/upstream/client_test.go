package upstream

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestClientKeepsTheDefaultClientAsItIs(t *testing.T) {
	client, err := NewClient(testkit.NewFakeUpstream(t, configMaps).Config(), Hop{})
	if err != nil {
		t.Fatal(err)
	}
	if client.http == http.DefaultClient || http.DefaultClient.CheckRedirect != nil {
		t.Error("the process's default client was changed")
	}
}

// A redirect would send the facade's credentials to another server.
func TestClientFollowsNoRedirect(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/from", http.RedirectHandler("/to", http.StatusFound).ServeHTTP)
		_, err := r.client.Get(t.Context(), Target{Path: "/from"}, MediaJSON, 1<<10)
		if !HasCode(err, http.StatusFound) || r.Asked("/to") != 0 {
			t.Errorf("the redirect was followed: %v", err)
		}
	})
}

func TestClientLimits(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/exact", text(strings.Repeat("x", 1000)))
		if body, err := r.client.Get(t.Context(), Target{Path: "/exact"}, MediaJSON, 1000); err != nil || len(body) != 1000 {
			t.Errorf("got %d bytes, %v for a body of the limit", len(body), err)
		}
		if _, err := r.client.Get(t.Context(), Target{Path: "/exact"}, MediaJSON, 999); err == nil {
			t.Error("accepted a body over the limit")
		}
		r.Script("/refused", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
		})
		_, err := r.client.Get(t.Context(), Target{Path: "/refused"}, MediaJSON, 1<<30)
		var status *StatusError
		if !errors.As(err, &status) || len(status.Body) != maxErrorBody || len(status.Error()) > 600 {
			t.Errorf("got the complete body of an error: %v", err)
		}
	})
}

func TestPost(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/reviews", func(w http.ResponseWriter, request *http.Request) {
			if request.Method != http.MethodPost || request.Header.Get("Content-Type") != MediaJSON || request.ContentLength != 2 {
				t.Errorf("%s %v", request.Method, request.Header)
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("yes"))
		})
		code, body, err := r.client.Post(t.Context(), "/reviews", []byte("{}"))
		if code != http.StatusCreated || string(body) != "yes" || err != nil {
			t.Errorf("got %d %q %v", code, body, err)
		}
		r.SetOffline(true)
		if _, _, err := r.client.Post(t.Context(), "/reviews", []byte("{}")); err == nil {
			t.Error("got a response from a closed upstream")
		}
	})
}
