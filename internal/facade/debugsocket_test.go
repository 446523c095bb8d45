package facade

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/listfacade/listfacade/internal/oplog"
)

// socketed serves with a debug socket until the returned function is called.
func socketed(t *testing.T, path string) (f *Facade, end func()) {
	t.Helper()
	level := oplog.NewLevel(zap.NewAtomicLevelAt(zap.InfoLevel), zap.NewNop(), setVerbosity)
	f = alone(t, func(c *Config) { c.DebugSocket, c.Level = path, level })
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	listener := listen(t, f)
	go func() { served <- f.Serve(ctx, listener) }()
	return f, func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}

// through returns a client of a socket.
func through(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// askSocket retries a request until the socket exists.
func askSocket(t *testing.T, client *http.Client, method, target, body string) (int, string) {
	t.Helper()
	for {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://facade"+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
			continue
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
}

// Only the process's own user may open the socket. It serves profiles, the log level, metrics, reports and the
// operator's page, and nothing else. The process removes it.
func TestDebugSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "debug.sock")
	_, end := socketed(t, path)
	client := through(t, path)
	if code, text := askSocket(t, client, http.MethodPut, oplog.VerbosityPath, "7"); code != http.StatusOK || !klog.V(7).Enabled() || klog.V(8).Enabled() {
		t.Errorf("%d %s; klog at 7: %t", code, text, klog.V(7).Enabled())
	}
	if code, text := askSocket(t, client, http.MethodPut, oplog.VerbosityPath, "0"); code != http.StatusOK || klog.V(1).Enabled() {
		t.Errorf("got %d %s", code, text)
	}
	for target, want := range map[string]int{
		"/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/cmdline": 200, oplog.LevelPath: 200, "/debug/flags": 200,
		"/metrics": 200, "/debug/clients?by=cpu": 200, "/debug/requests": 200, "/debug/watches?output=json": 200, "/debug/watches?by=name": 400,
		"/debug/status": 200, "/debug/status?output=json": 200, "/debug/status/lanes": 200, "/debug/status/page.css": 200, "/debug/status?lanes=x": 400, "/debug/status/x": 404,
		"/api/v1/pods": 404, "/readyz": 404,
	} {
		if code, _ := askSocket(t, client, http.MethodGet, target, ""); code != want {
			t.Errorf("%s: %d, want %d", target, code, want)
		}
	}
	// An invalid request for the operator's page is refused as over HTTPS.
	for target, want := range map[string]string{http.MethodGet + " /debug/status?lanes=x": "BadRequest", http.MethodPut + " /debug/status": "MethodNotAllowed"} {
		method, target, _ := strings.Cut(target, " ")
		var status metav1.Status
		if _, text := askSocket(t, client, method, target, ""); json.Unmarshal([]byte(text), &status) != nil || status.Kind != "Status" || string(status.Reason) != want {
			t.Errorf("%s %s: %s", method, target, text)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v: %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("got other files %v next to the socket: %v", left, err)
	}
	second := alone(t, func(c *Config) { c.DebugSocket = path })
	if err := second.Serve(t.Context(), listen(t, second)); err == nil || !strings.Contains(err.Error(), "is in use by another process") {
		t.Errorf("got %v for a second process", err)
	}
	client.CloseIdleConnections()
	end()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket was not removed: %v", err)
	}
}

// A socket of an earlier process is replaced. A file that is not a socket, or a path where none can be created, is an
// error at the start.
func TestDebugSocketIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "debug.sock")
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = left.Close()
	_, end := socketed(t, path)
	if code, _ := askSocket(t, through(t, path), http.MethodGet, oplog.LevelPath, ""); code != http.StatusOK {
		t.Errorf("got %d", code)
	}
	end()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	datagrams := filepath.Join(t.TempDir(), "datagrams") // of another process, whose state is unknown
	other, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: datagrams, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	for path, want := range map[string]string{file: "is not a socket", datagrams: "wrong type", filepath.Join(t.TempDir(), "a/b"): "no such file or directory"} {
		f := alone(t, func(c *Config) { c.DebugSocket = path })
		if err := f.Serve(t.Context(), listen(t, f)); err == nil || !strings.Contains(err.Error(), "--debug-socket-path") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("%s: %v", text, err)
	}
}
