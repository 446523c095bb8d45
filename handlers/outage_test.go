package handlers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit"
)

const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// inOutage runs a test with a facade that has a lane, and that authorizes through the upstream like the command does.
// There was no request for a while before the test.
func inOutage(t *testing.T, maxStaleness time.Duration, test func(*testing.T, *facade)) {
	t.Helper()
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script(reviewsPath, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"kind":"SubjectAccessReview","status":{"allowed":true}}`)
		})
		f.deny = auth.NewSelf(f.asker, maxStaleness)
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		<-time.After(20 * time.Minute)
		test(t, f)
	}, func(c *Config) { c.MaxStaleness = maxStaleness })
}

// reads0 reads at any version, and measures the time.
func (f *facade) reads0(t *testing.T) (code int, warning string, took time.Duration) {
	t.Helper()
	began := time.Now()
	response, _ := f.get(t, reads[0])
	return response.StatusCode, response.Header.Get("Warning"), time.Since(began)
}

// An upstream that accepts connections and never responds delays no read, whether the cache may serve it or not. The
// time without a response begins with the outage.
func TestSilentUpstreamDelaysNoRead(t *testing.T) {
	const allowed = 2 * time.Minute
	inOutage(t, allowed, func(t *testing.T, f *facade) {
		f.SetFrozen(true)
		began, served := time.Now(), time.Duration(0)
		if code, _, took := f.reads0(t); code != http.StatusOK || took > time.Second {
			t.Errorf("the first read: got %d after %s", code, took)
		}
		for range 180 {
			<-time.After(time.Second)
			age := time.Since(began)
			code, warning, took := f.reads0(t)
			if took != 0 {
				t.Fatalf("after %s: got a response after %s", age, took)
			}
			if code == http.StatusOK {
				served = age
			}
			if warned := strings.Contains(warning, "has received nothing from"); code == http.StatusOK && warned != (age > warnAfter+time.Second) && age > 2*warnAfter {
				t.Errorf("after %s: got warning %q", age, warning)
			}
		}
		if served < allowed-3*time.Second || served > allowed+3*time.Second {
			t.Errorf("got reads for %s", served)
		}
		f.SetFrozen(false)
		<-time.After(10 * time.Second)
		f.reads0(t) // finds out that reviews work again
		synctest.Wait()
		if code, warning, _ := f.reads0(t); code != http.StatusOK || warning != "" {
			t.Errorf("after the outage: got %d %q", code, warning)
		}
	})
}

// Without MaxStaleness the cache is served for the complete outage.
func TestCacheIsServedWithoutMaxStaleness(t *testing.T) {
	inOutage(t, 0, func(t *testing.T, f *facade) {
		f.SetOffline(true)
		<-time.After(2 * time.Hour)
		if code, warning, took := f.reads0(t); code != http.StatusOK || took != 0 || !strings.Contains(warning, "2h0m") {
			t.Errorf("got %d %q after %s", code, warning, took)
		}
	})
}

// A failed request to a healthy upstream, without any later request, does not count as an outage.
func TestOneFailedRequestIsNoOutage(t *testing.T) {
	inOutage(t, time.Minute, func(t *testing.T, f *facade) {
		f.Script("/version", func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
		if _, err := f.asker.ServerVersion(t.Context()); err == nil || f.asker.Silent() == 0 {
			t.Fatalf("got no outage after %v", err)
		}
		f.Script("/version", nil)
		<-time.After(5 * time.Second)
		if f.asker.Silent() != 0 || f.lanes.All()[0].StaleFor() != 0 {
			t.Errorf("got a silence of %s, want none", f.asker.Silent())
		}
	})
}

// An upstream that refuses the facade's credentials counts as an outage. Here it starts, or a token was rotated, for
// half a minute.
func TestRefusedCredentialsAreAnOutage(t *testing.T) {
	for name, refusal := range map[string]http.HandlerFunc{
		"401": testkit.Refuse(http.StatusUnauthorized, "Unauthorized"), "403": testkit.Refuse(http.StatusForbidden, "Forbidden"),
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, time.Minute, func(t *testing.T, f *facade) {
				truth := []testkit.Ask{testkit.AskProbe, testkit.AskStreaming, testkit.AskWatch, testkit.AskList, testkit.AskRoll, testkit.AskProgressWatch}
				watched := make(chan string)
				go func() {
					_, body := f.get(t, "/api/v1/configmaps?watch=1&resourceVersion=2&timeoutSeconds=120")
					watched <- body
				}()
				synctest.Wait()
				for _, ask := range append(truth, reviewsPath) {
					f.Script(ask, refusal)
				}
				f.DropWatches()
				f.Put("ns/b", "1")
				<-time.After(15 * time.Second)
				if code, warning, _ := f.reads0(t); code != http.StatusOK || !strings.Contains(warning, "has received nothing from") {
					t.Errorf("any version: got %d %q", code, warning)
				}
				if response, _ := f.get(t, "/api/v1/configmaps"); response.StatusCode < 400 {
					t.Errorf("most recent: got %d", response.StatusCode)
				}
				for _, ask := range truth {
					f.Script(ask, nil)
				}
				f.Script(reviewsPath, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusCreated)
					_, _ = io.WriteString(w, `{"kind":"SubjectAccessReview","status":{"allowed":true}}`)
				})
				if body := <-watched; !strings.Contains(body, `"name":"b"`) || strings.Contains(body, "ERROR") {
					t.Errorf("got events %s", body)
				}
				if code, warning, _ := f.reads0(t); code != http.StatusOK || warning != "" {
					t.Errorf("after the outage: got %d %q", code, warning)
				}
			})
		})
	}
}
