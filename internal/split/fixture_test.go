package split

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/testkit"
)

// fake is a kube-apiserver or a facade that records requests. answer may be nil.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	received []*http.Request
}

// startFake starts a fake until the test ends. It answers /readyz itself.
func startFake(t testing.TB, answer http.HandlerFunc, changes ...func(*httptest.Server)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			return
		}
		f.mu.Lock()
		f.received = append(f.received, r)
		f.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	f.EnableHTTP2 = true
	f.Config.ErrorLog = zap.NewStdLog(zap.NewNop())
	for _, change := range changes {
		change(f.Server)
	}
	f.StartTLS()
	t.Cleanup(f.end)
	return f
}

func (f *fake) end() {
	f.CloseClientConnections()
	f.Close()
}

// lines returns method and path of the received requests.
func (f *fake) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, r := range f.received {
		lines = append(lines, r.Method+" "+r.URL.RequestURI())
	}
	return lines
}

// last returns the last received request.
func (f *fake) last(t *testing.T) *http.Request {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.received) == 0 {
		t.Fatal("no request was received")
	}
	return f.received[len(f.received)-1]
}

// running is a proxy in front of fakes.
type running struct {
	*Split
	url    string
	client *http.Client // HTTP/2
	logs   *observer.ObservedLogs
	stop   func() // starts the shutdown
	ended  chan error
}

// start starts a proxy until the test ends, and waits until it is ready.
func start(t testing.TB, apiServer *fake, facades []*fake, changes ...func(*Options)) *running {
	t.Helper()
	o := DefaultOptions()
	o.KubeAPIServer, o.KubeAPIServerCAFile, o.MetricsAddress = apiServer.URL, authority(t, apiServer), ""
	for _, f := range facades {
		o.Facades, o.FacadeCAFile = append(o.Facades, f.URL), authority(t, f)
	}
	o.Serving.Port, o.Serving.CertDir = 0, t.TempDir()
	o.Serving.ShutdownDelay, o.Serving.WatchTermination = 0, 0
	for _, change := range changes {
		change(&o)
	}
	core, logs := observer.New(zap.InfoLevel)
	s, err := New(o, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true} //nolint:gosec // the test's own server
	run := &running{
		Split: s, url: "https://" + listener.Addr().String(), client: &http.Client{Transport: transport}, logs: logs, stop: stop,
		ended: make(chan error, 1),
	}
	go func() { run.ended <- s.Serve(ctx, listener); close(run.ended) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-run.ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if t.Failed() {
			for _, line := range logs.All() {
				zaptest.NewLogger(t).Info(line.Message, line.Context...)
			}
		}
	})
	testkit.Eventually(t, "all targets were checked", func() error {
		for _, target := range s.servers() {
			if !isClosed(target.checked) {
				return errors.New("a target was not checked")
			}
		}
		return nil
	})
	return run
}

// authority writes the certificate of a fake to a file.
func authority(t testing.TB, f *fake) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// do sends a request like "GET /api" with headers like "Accept: text/plain", and returns the answer and its body.
func (r *running) do(t *testing.T, line string, headers ...string) (*http.Response, string) {
	t.Helper()
	answer := r.open(t, line, headers...)
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return answer, string(body)
}

// open sends a request and returns the answer with its open body, which is closed with the test.
func (r *running) open(t *testing.T, line string, headers ...string) *http.Response {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// says answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// events is a handler that answers with the lines that the test sends, each flushed, until its channel is closed.
func events(lines <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.Flush()
		for {
			select {
			case line, open := <-lines:
				if !open {
					return
				}
				_, _ = io.WriteString(w, line+"\n")
				_ = control.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// nextLine returns the next line of an answer.
func nextLine(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the answer ended: %v", lines.Err())
	}
	return lines.Text()
}

// counts returns the values of the proxy's metrics whose lines begin with a name.
func (r *running) counts(t *testing.T, name string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var found []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "listfacade_split_"+name) && !strings.HasSuffix(line, " 0\n") {
			found = append(found, strings.TrimPrefix(strings.TrimSpace(line), "listfacade_split_"))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testkit.Eventually(t, what, func() error {
		if !holds() {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}

// short is a period of a shutdown in which something must be seen to happen.
const short = 50 * time.Millisecond
