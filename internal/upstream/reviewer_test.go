package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"

// inReview runs a test with a reviewer whose credential is a token.
func inReview(t *testing.T, test func(*testing.T, *rig, *Reviewer), observers ...Observer) {
	t.Helper()
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		config := r.Config()
		config.BearerToken = "reviewers"
		reviewer, err := NewReviewer(config, Hop{}, observers...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reviewer.CloseIdle)
		test(t, r, reviewer)
	})
}

func TestReviewer(t *testing.T) {
	inReview(t, func(t *testing.T, r *rig, reviewer *Reviewer) {
		long := strings.Repeat("x", 500<<10)
		r.Script(tokenReviews, func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, q.Method+q.Header.Get("Content-Type")+q.Header.Get("Authorization")+string(body)+long)
		})
		code, body, err := reviewer.Post(t.Context(), tokenReviews, []byte("{}"))
		if err != nil || code != http.StatusCreated || string(body) != "POSTapplication/jsonBearer reviewers{}"+long {
			t.Errorf("got %d %.80q %v", code, body, err)
		}
		if reviewer.Silent() != 0 {
			t.Errorf("silent for %s", reviewer.Silent())
		}
		r.SetOffline(true)
		if _, _, err := reviewer.Post(t.Context(), tokenReviews, nil); err == nil {
			t.Error("got a response from a closed upstream")
		}
		elapse(time.Minute)
		if reviewer.Silent() != time.Minute || r.client.Silent() != 0 {
			t.Errorf("silent for %s, another client for %s", reviewer.Silent(), r.client.Silent())
		}
	})
}

// The check whether anonymous callers are accepted is sent without credentials. A refusal is an expected result, so
// observers do not count it as a failure.
func TestAnonymousProbe(t *testing.T) {
	var observed asked
	inReview(t, func(t *testing.T, r *rig, reviewer *Reviewer) {
		for _, want := range []int{200, 401, 403, 302} {
			r.Script("/version", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(want)
			})
			if code, _, err := reviewer.Anonymous().Get(t.Context(), "/version"); code != want || err != nil {
				t.Errorf("got %d %v, want %d", code, err, want)
			}
		}
		for _, q := range r.Requests("/version") {
			if q.Header.Get("Authorization") != "" {
				t.Error("an anonymous request has credentials")
			}
		}
		r.Script("/version", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		began := time.Now()
		_, _, err := reviewer.Anonymous().Get(t.Context(), "/version")
		if !IsUnreachable(err) || time.Since(began) != probeWait {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		if reviewer.Silent() == 0 {
			t.Error("got no outage without a response")
		}
		if len(observed.observed) > 0 {
			t.Errorf("observers were notified of %v with the codes %v", observed.observed, observed.code)
		}
	}, &observed)
}
