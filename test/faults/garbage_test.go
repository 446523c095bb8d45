package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// spoilingProxy is a proxy of the real kube-apiserver that answers some requests with garbage.
type spoilingProxy struct {
	kubeconfig string
	server     *httptest.Server
	spoil      atomic.Pointer[func(http.ResponseWriter, *http.Request) bool] // reports whether it answered
}

func newSpoilingProxy(t *testing.T) *spoilingProxy {
	t.Helper()
	config := suite.FacadeConfig(t, suite.Furnished(t))
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	// An error here is a facade that went away.
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	g := &spoilingProxy{}
	g.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoil := g.spoil.Load(); spoil == nil || !(*spoil)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		g.server.CloseClientConnections()
		g.server.Close()
	})
	g.kubeconfig = testkit.WriteInsecureKubeconfig(t, g.server.URL)
	return g
}

// garbage contains answers that no kube-apiserver sends.
var garbage = map[string]http.HandlerFunc{
	"an HTML page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<html><body>Please log in</body></html>")
	},
	"truncated JSON": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"rows":[{"cells":["a`)
	},
	"nothing": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") },
	"another kind": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintln(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":200}`)
	},
	"JSON that is no object": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintln(w, `[null]`)
	},
	"an endless body": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for spaces := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	},
	"a server error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "upstream down", http.StatusBadGateway) },
	"a broken connection": func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	},
}

// If all answers of the upstream are garbage, the facade neither becomes ready nor ends.
func TestFacadeSurvivesUpstreamOfGarbage(t *testing.T) {
	for name, answer := range garbage {
		t.Run(name, func(t *testing.T) {
			if name == "an endless body" {
				settings.Long(t) // a short run has it of one resource
			}
			t.Parallel() // most of it is waiting
			g := newSpoilingProxy(t)
			all := func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
			g.spoil.Store(&all)
			run := suite.LaunchFacade(t, g.kubeconfig)
			isUnready(t, run)
			if code := code(t, run, "/api/v1/pods?resourceVersion=0"); name == "a broken connection" && code != http.StatusServiceUnavailable {
				t.Errorf("a list: got %d, want 503", code)
			}
			lives(t, run)
			g.spoil.Store(nil)
			run.AwaitReady(t)
			suite.OracleOf(t, run).Compare(t, testkit.Question{Path: "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"})
		})
	}
}

// While the upstream answers one resource with garbage, requests for it receive 429. Other resources are not affected.
func TestGarbageOfOneResourceDoesNotAffectOthers(t *testing.T) {
	for name, answer := range garbage {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			g := newSpoilingProxy(t)
			some := func(w http.ResponseWriter, r *http.Request) bool {
				spoilt := strings.HasSuffix(r.URL.Path, "/configmaps")
				if spoilt {
					answer(w, r)
				}
				return spoilt
			}
			g.spoil.Store(&some)
			run := suite.LaunchFacade(t, g.kubeconfig)
			run.AwaitReady(t)
			o := suite.OracleOf(t, run)
			const path = "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"
			if code := code(t, run, path); code != http.StatusTooManyRequests {
				t.Errorf("%s: got %d, want 429", path, code)
			}
			o.Compare(t, testkit.Question{Path: "/api/v1/namespaces/oracle/serviceaccounts?resourceVersion=0"})
			lives(t, run)
			g.spoil.Store(nil)
			testkit.Eventually(t, "the resource is served", func() error {
				if code := code(t, run, path); code != http.StatusOK {
					return fmt.Errorf("code %d", code)
				}
				return nil
			})
			o.FromCache(t, func() { o.Compare(t, testkit.Question{Path: path}) })
		})
	}
}

// A lane whose watch sends garbage keeps its state, and resumes the watch or lists again.
func TestLaneKeepsStateWhenWatchSendsGarbage(t *testing.T) {
	for name, frame := range map[string]string{
		"an HTML page": "<html>", "half a frame": `{"type":"ADDED","object":{"kind":"Tab`, "an unknown event": `{"type":"FOO","object":{}}` + "\n",
		"another kind": `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle","resourceVersion":"99999999"}}}` + "\n",
		"no version":   `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle"}}}` + "\n",
		"an old event": `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle","resourceVersion":"1"}}}` + "\n",
		"no object":    `{"type":"ADDED"}` + "\n", "an array": "[]\n", "empty lines": "\n\n\n", "an error without a code": `{"type":"ERROR","object":{}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			g := newSpoilingProxy(t)
			var spoilt atomic.Int32
			resumes := func(w http.ResponseWriter, r *http.Request) bool {
				query := r.URL.Query()
				if !strings.HasSuffix(r.URL.Path, "/configmaps") || query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
					return false
				}
				spoilt.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprint(w, frame)
				return true
			}
			run := suite.LaunchFacade(t, g.kubeconfig)
			run.AwaitReady(t)
			o := suite.OracleOf(t, run)
			const path = "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"
			o.Compare(t, testkit.Question{Path: path})
			g.spoil.Store(&resumes)
			g.server.CloseClientConnections()
			testkit.Eventually(t, "the lane has tried to resume", func() error {
				if spoilt.Load() == 0 {
					return errors.New("the proxy received no watch")
				}
				return nil
			})
			if code := code(t, run, path); code != http.StatusOK {
				t.Errorf("%s: got %d, want 200 with the lane's state", path, code)
			}
			lives(t, run)
			g.spoil.Store(nil)
			testkit.Eventually(t, "the lane is connected", func() error {
				if stale := staleness(run); stale > 0 {
					return fmt.Errorf("the stalest lane is %s old", stale)
				}
				return nil
			})
			o.FromCache(t, func() { o.Compare(t, testkit.Question{Path: path}) })
		})
	}
}

// staleness returns the time since the last message of the upstream to the stalest lane.
func staleness(r *suite.Facade) (longest time.Duration) {
	for _, lane := range r.Lanes() {
		longest = max(longest, time.Duration(lane.StaleSeconds*float64(time.Second)))
	}
	return longest
}

// No server listens at the upstream's address.
func TestUpstreamUnreachable(t *testing.T) {
	run := suite.LaunchFacade(t, testkit.WriteInsecureKubeconfig(t, "https://"+suite.FreeAddress(t)))
	isUnready(t, run)
	for _, path := range []string{"/api/v1/pods", "/api/v1/pods?resourceVersion=0", "/api/v1/namespaces/oracle/pods/alpha", "/apis", "/version", "/foo"} {
		answer, err := suite.OracleOf(t, run).Facade.Ask(t.Context(), testkit.Question{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		const want = `"message":"the upstream kube-apiserver cannot be reached, or its response cannot be used","reason":"ServiceUnavailable"`
		if answer.Code != http.StatusServiceUnavailable || !strings.Contains(string(answer.Body), want) || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", path, answer.Code, answer.Header, answer.Body)
		}
	}
	lives(t, run)
}

// isUnready waits until the facade listens and has logged why it is not ready, and checks its probes.
func isUnready(t *testing.T, r *suite.Facade) {
	t.Helper()
	testkit.Eventually(t, "the facade logs why it is not ready", func() error {
		if r.Logs.FilterMessage("Discovery or preload is incomplete, so the facade is not ready").Len() == 0 {
			return fmt.Errorf("logged %v", r.Logs.All())
		}
		return nil
	})
	if code := code(t, r, "/readyz"); code != http.StatusInternalServerError {
		t.Errorf("/readyz: got %d, want 500", code)
	}
	lives(t, r)
}

func lives(t *testing.T, r *suite.Facade) {
	t.Helper()
	if code := code(t, r, "/livez"); code != http.StatusOK {
		t.Errorf("/livez: got %d, want 200", code)
	}
}

// code returns the code of the facade's answer for a path.
func code(t *testing.T, r *suite.Facade, path string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.Patience)
	defer cancel()
	response, err := suite.OracleOf(t, r).Facade.Open(ctx, testkit.Question{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
