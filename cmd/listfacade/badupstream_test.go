package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/listfacade/listfacade/internal/testkit"
)

// garbler stands before the real kube-apiserver and answers some questions by itself, with what no kube-apiserver says.
type garbler struct {
	kubeconfig string
	server     *httptest.Server
	spoil      atomic.Pointer[func(http.ResponseWriter, *http.Request) bool] // reports whether it answered
}

func newGarbler(t *testing.T) *garbler {
	t.Helper()
	if err := furnished(); err != nil {
		t.Fatal(err)
	}
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // the facade went away
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	g := &garbler{}
	g.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoil := g.spoil.Load(); spoil == nil || !(*spoil)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		g.server.CloseClientConnections()
		g.server.Close()
	})
	g.kubeconfig = writeKubeconfig(t, g.server.URL)
	return g
}

// writeKubeconfig writes a file for a server without credentials; its certificate is not looked at.
func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["c"] = &api.Cluster{Server: server, InsecureSkipTLSVerify: true}
	file.Contexts["c"] = &api.Context{Cluster: "c"}
	file.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// garbage are answers that no kube-apiserver gives.
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

// TestUpstreamOfGarbage: an upstream of which nothing makes sense never makes the facade ready, and never ends it.
func TestUpstreamOfGarbage(t *testing.T) {
	for name, answer := range garbage {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			g := newGarbler(t)
			all := func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
			g.spoil.Store(&all)
			run := launchFacade(t, g.kubeconfig)
			run.isUnready(t)
			if code := run.code(t, "/api/v1/pods?resourceVersion=0"); name == "a broken connection" && code != http.StatusServiceUnavailable {
				t.Errorf("a list: %d, want 503", code)
			}
			run.lives(t)
			g.spoil.Store(nil)
			run.awaitReady(t)
			oracleOf(t, run).Compare(t, testkit.Question{Path: "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"})
		})
	}
}

// TestGarbageOfOneResource: one resource that makes no sense answers "not yet" until it does; the others do not notice.
func TestGarbageOfOneResource(t *testing.T) {
	for name, answer := range garbage {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			g := newGarbler(t)
			some := func(w http.ResponseWriter, r *http.Request) bool {
				spoilt := strings.HasSuffix(r.URL.Path, "/configmaps")
				if spoilt {
					answer(w, r)
				}
				return spoilt
			}
			g.spoil.Store(&some)
			run := launchFacade(t, g.kubeconfig)
			run.awaitReady(t)
			o := oracleOf(t, run)
			const path = "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"
			if code := run.code(t, path); code != http.StatusTooManyRequests {
				t.Errorf("%s: %d, want 429", path, code)
			}
			o.Compare(t, testkit.Question{Path: "/api/v1/namespaces/oracle/serviceaccounts?resourceVersion=0"})
			run.lives(t)
			g.spoil.Store(nil)
			testkit.Eventually(t, within, "the resource is read again", func() error {
				if code := run.code(t, path); code != http.StatusOK {
					return fmt.Errorf("code %d", code)
				}
				return nil
			})
			o.FromCache(t, func() { o.Compare(t, testkit.Question{Path: path}) })
		})
	}
}

// TestGarbageInWatches: a lane whose watch makes no sense keeps what it has, and resumes or syncs anew.
func TestGarbageInWatches(t *testing.T) {
	for name, frame := range map[string]string{
		"an HTML page": "<html>", "half a frame": `{"type":"ADDED","object":{"kind":"Tab`, "an unknown event": `{"type":"FOO","object":{}}` + "\n",
		"another kind": `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle","resourceVersion":"99999999"}}}` + "\n",
		"no version":   `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle"}}}` + "\n",
		"an old event": `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"oracle","resourceVersion":"1"}}}` + "\n",
		"no object":    `{"type":"ADDED"}` + "\n", "an array": "[]\n", "empty lines": "\n\n\n", "an error without a code": `{"type":"ERROR","object":{}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			g := newGarbler(t)
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
			run := launchFacade(t, g.kubeconfig)
			run.awaitReady(t)
			o := oracleOf(t, run)
			const path = "/api/v1/namespaces/oracle/configmaps?resourceVersion=0"
			o.Compare(t, testkit.Question{Path: path})
			g.spoil.Store(&resumes)
			g.server.CloseClientConnections()
			testkit.Eventually(t, within, "the lane has tried to resume", func() error {
				if spoilt.Load() == 0 {
					return errors.New("no watch came")
				}
				return nil
			})
			if code := run.code(t, path); code != http.StatusOK {
				t.Errorf("%s: %d, want what the lane has", path, code)
			}
			run.lives(t)
			g.spoil.Store(nil)
			testkit.Eventually(t, within, "the lane is connected", func() error {
				if stale := run.staleness(); stale > 0 {
					return fmt.Errorf("not heard for %s", stale)
				}
				return nil
			})
			o.FromCache(t, func() { o.Compare(t, testkit.Question{Path: path}) })
		})
	}
}

// staleness is how long the lane that was heard longest ago has not been heard.
func (r *running) staleness() (longest time.Duration) {
	for _, lane := range r.facade.Lanes() {
		longest = max(longest, time.Duration(lane.StaleSeconds*float64(time.Second)))
	}
	return longest
}

// TestUpstreamUnreachable: nobody listens where the upstream should be.
func TestUpstreamUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	run := launchFacade(t, writeKubeconfig(t, "https://"+address))
	run.isUnready(t)
	for _, path := range []string{"/api/v1/pods", "/api/v1/pods?resourceVersion=0", "/api/v1/namespaces/oracle/pods/alpha", "/apis", "/version", "/foo"} {
		answer, err := oracleOf(t, run).Facade.Ask(t.Context(), testkit.Question{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		const want = `"message":"the upstream kube-apiserver cannot be reached","reason":"ServiceUnavailable"`
		if answer.Code != http.StatusServiceUnavailable || !strings.Contains(string(answer.Body), want) || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s", path, answer.Code, answer.Header, answer.Body)
		}
	}
	run.lives(t)
}

// TestWrongKubeconfig: what is wrong with it is said when the process starts.
func TestWrongKubeconfig(t *testing.T) {
	good := writeKubeconfig(t, "https://127.0.0.1:1")
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"missing file":    {[]string{"--kubeconfig", dir + "/nowhere"}, "no such file or directory"},
		"a directory":     {[]string{"--kubeconfig", dir}, "is a directory"},
		"unknown context": {[]string{"--kubeconfig", good, "--context", "nobody"}, `context "nobody" does not exist`},
		"no YAML":         {[]string{"--kubeconfig", file("garbage", "\x00\x01<html>")}, "read --kubeconfig"},
		"empty file":      {[]string{"--kubeconfig", file("empty", "")}, "read --kubeconfig"},
		"another file":    {[]string{"--kubeconfig", file("pod", "apiVersion: v1\nkind: Pod\n")}, "read --kubeconfig"},
		"no such CA":      {[]string{"--kubeconfig", file("ca", "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: /nowhere}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")}, "/nowhere"},
		"no URL":          {[]string{"--kubeconfig", writeKubeconfig(t, "https://[::1")}, "https://[::1"},
		"no kubeconfig":   {nil, "--kubeconfig is needed outside a cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			command := command()
			command.SetArgs(append(test.args, "--secure-port", "0", "--cert-dir", t.TempDir()))
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

// oracleOf compares a facade with the cluster.
func oracleOf(t *testing.T, run *running) *testkit.Oracle {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := testkit.NewAsker(config)
	if err != nil {
		t.Fatal(err)
	}
	facade, err := testkit.NewAsker(run.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &testkit.Oracle{Upstream: upstream, Facade: facade}
}

// isUnready waits until the facade listens and has said in its log why it is not ready, and asks its probes.
func (r *running) isUnready(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, within, "the facade says why it is not ready", func() error {
		if r.logs.FilterMessage("not ready").Len() == 0 {
			return fmt.Errorf("logged %v", r.logs.All())
		}
		return nil
	})
	if code := r.code(t, "/readyz"); code != http.StatusInternalServerError {
		t.Errorf("/readyz: %d, want 500", code)
	}
	r.lives(t)
}

func (r *running) lives(t *testing.T) {
	t.Helper()
	if code := r.code(t, "/livez"); code != http.StatusOK {
		t.Errorf("/livez: %d, want 200", code)
	}
}

// code asks the facade for a path and looks at no more of the answer than its code. It has to come in time.
func (r *running) code(t *testing.T, path string) int {
	t.Helper()
	began := time.Now()
	response, err := oracleOf(t, r).Facade.Open(t.Context(), testkit.Question{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if took := time.Since(began); took > within {
		t.Errorf("%s took %s", path, took)
	}
	return response.StatusCode
}
