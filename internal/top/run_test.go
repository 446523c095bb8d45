package top

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }

const answer = `{"by":"bytes","unit":"bytes","from":"2030-01-02T03:04:00Z","to":"2030-01-02T03:05:30Z","total":4096,"clients":[` +
	`{"user":"amy","userAgent":"\u001b[2Jkubectl","verb":"list","version":"v1","resource":"pods","scope":"cluster","source":"cache","estimate":4096,"error":0}],"keys":1,"unlisted":0}`

// server returns the configuration of a server with a fixed response, which counts requests and checks path and token.
func server(t *testing.T, asked *atomic.Int64, code int, body string) *rest.Config {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Path && r.URL.RawQuery == "by=cpu&limit=7&output=json&window=1m0s" && r.Header.Get("Authorization") == "Bearer secret" {
			asked.Add(1)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

var options = Options{By: "cpu", Window: time.Minute, Limit: 7, Interval: time.Millisecond, Once: true}

// With Once, one table is printed, with printable text.
func TestOncePrintsOneTable(t *testing.T) {
	var asked atomic.Int64
	var out bytes.Buffer
	if err := Run(t.Context(), server(t, &asked, http.StatusOK, answer), options, &out); err != nil || asked.Load() != 1 {
		t.Fatalf("got %d requests: %v", asked.Load(), err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "bytes, 03:04:00 to 03:05:30 (1m30s): 4Ki in total") || !strings.HasPrefix(lines[2], "ESTIMATE") ||
		!strings.HasPrefix(lines[3], "4Ki        0       100%    amy    ?[2Jkubectl   list") {
		t.Errorf("got %s", &out)
	}
}

// ended is a writer that ends a context after a number of writes.
type ended struct {
	bytes.Buffer
	tables int
	end    context.CancelFunc
}

// Write implements io.Writer.
func (e *ended) Write(p []byte) (int, error) {
	n, err := e.Buffer.Write(p)
	if strings.Count(e.String(), "ESTIMATE   ") >= e.tables {
		e.end()
	}
	return n, err
}

// Tables follow each other until the context ends, which is not an error.
func TestTablesRepeatUntilContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	out := &ended{tables: 3, end: cancel}
	again := options
	again.Once = false
	if err := Run(ctx, server(t, &asked, http.StatusOK, answer), again, out); err != nil || asked.Load() < 3 {
		t.Errorf("got %d requests: %v", asked.Load(), err)
	}
	if strings.Contains(out.String(), clearScreen) {
		t.Error("got a clear-screen sequence in output that is not a terminal")
	}
}

// The error of a failed request is printed in place of a table, and the requests continue.
func TestContinuesAfterFailedRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("not now"))
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	out := &ended{tables: 2, end: cancel}
	again := options
	again.Once = false
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	if err := Run(ctx, config, again, out); err != nil || asked.Load() < 3 || strings.Count(out.String(), `503 Service Unavailable: "not now"`) != 1 {
		t.Errorf("got %d requests: %v\n%s", asked.Load(), err, out)
	}
}

// Errors of flags, connections and servers are returned.
func TestErrors(t *testing.T) {
	var asked atomic.Int64
	for body, want := range map[string]string{
		`{"kind":"Status","message":"no: \u001b[2J"}`: `/debug/clients responded with 403 Forbidden: "no: \x1b[2J"`,
		"nonsense\x1b": `responded with 403 Forbidden: "nonsense\x1b"`,
	} {
		var out bytes.Buffer
		err := Run(t.Context(), server(t, &asked, http.StatusForbidden, body), options, &out)
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
	if err := Run(t.Context(), server(t, &asked, http.StatusOK, "<html>"), options, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "possibly not a listfacade") {
		t.Errorf("got %v", err)
	}
	if err := Run(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, options, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	wrong := options
	wrong.Interval = 0
	if err := Run(t.Context(), &rest.Config{}, wrong, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "--interval") {
		t.Errorf("got %v", err)
	}
}

// A text is cut to the size of the terminal.
func TestFitted(t *testing.T) {
	if diff := cmp.Diff("ab\nää\n", fitted("abc\nääää\nx\n", 2, 3)); diff != "" {
		t.Error(diff)
	}
	if got := fitted("abc\n", 0, 0); got != "\n" {
		t.Errorf("got %q", got)
	}
}

// The command accepts a kubeconfig and kubectl's flags.
func TestCommand(t *testing.T) {
	var asked atomic.Int64
	config := server(t, &asked, http.StatusOK, answer)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"+
		"users: [{name: u, user: {token: secret}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := Command()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{
		"--kubeconfig", kubeconfig, "--context", "x", "--server", config.Host, "--insecure-skip-tls-verify", "--by", "cpu", "--window", "1m", "--limit", "7", "--once",
	})
	if err := command.ExecuteContext(t.Context()); err != nil || asked.Load() != 1 || !strings.Contains(out.String(), "amy") {
		t.Errorf("got %d requests: %v\n%s", asked.Load(), err, &out)
	}
	command.SetArgs([]string{"--kubeconfig", kubeconfig + "x"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "read kubeconfig") {
		t.Errorf("got %v", err)
	}
}
