package split

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// echo accepts an upgrade to SPDY and sends back what it receives.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "SPDY/3.1" || r.ProtoMajor != 1 {
		http.Error(w, "no upgrade", http.StatusBadRequest)
		return
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.Copy(conn, buffered)
}

// exec opens an upgraded connection, and returns it with its buffered reader.
func (r *running) exec(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST /api/v1/namespaces/a/pods/b/exec?command=cat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %+v, %v", answer, err)
	}
	return conn, reader
}

// says sends a line over an upgraded connection and expects it back.
func echoes(t *testing.T, conn net.Conn, reader *bufio.Reader, line string) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(settings.Patience())); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := reader.ReadString('\n'); got != line+"\n" {
		t.Fatalf("got %q, %v, want %q", got, err, line)
	}
}

// An upgraded connection passes bytes in both directions, with a protocol that HTTP/2 and Go do not know.
func TestUpgradePassesBothWays(t *testing.T) {
	run := start(t, startFake(t, echo), []*fake{startFake(t, nil)})
	conn, reader := run.exec(t)
	for _, line := range []string{"one", strings.Repeat("x", 100_000), "three"} {
		echoes(t, conn, reader, line)
	}
	if got, want := run.counts(t, "requests_in_flight"), `requests_in_flight{kind="upgrade",target="kube-apiserver"} 1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// While the proxy shuts down, it is not ready but serves; then watches end without an error, sessions and writes in
// flight continue, and the proxy ends when they have ended.
func TestShutdownLetsRequestsFinish(t *testing.T) {
	lines, finish := make(chan string), make(chan struct{})
	t.Cleanup(func() { close(lines) })
	api := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echo(w, r)
			return
		}
		<-finish
		_, _ = io.WriteString(w, "written")
	})
	run := start(t, api, []*fake{startFake(t, events(lines))}, func(o *Options) {
		o.Serving.ShutdownDelay, o.Serving.WatchTermination, o.Serving.ShutdownGrace = short, short, settings.Patience()
	})
	watch := run.open(t, "GET /api/v1/pods?watch=true")
	conn, reader := run.exec(t)
	written := make(chan string, 1)
	go func() {
		_, body := run.do(t, "POST /api/v1/pods")
		written <- body
	}()
	eventually(t, "the write reached kube-apiserver", func() bool { return len(api.lines()) == 2 })
	run.stop()
	eventually(t, "it is not ready", func() bool { _, ready := run.readiness(); return !ready })
	if body, err := io.ReadAll(watch.Body); err != nil || len(body) > 0 {
		t.Errorf("the watch ended with %q, %v, want no error", body, err)
	}
	echoes(t, conn, reader, "still here")
	close(finish)
	if got := <-written; got != "written" {
		t.Errorf("got %q", got)
	}
	_ = conn.Close()
	if err := <-run.ended; err != nil {
		t.Error(err)
	}
}

// A session that does not end is cut off at the end of the grace period. The client of a write that is cut off receives
// an error, and no empty answer.
func TestShutdownCutsOffTheRest(t *testing.T) {
	api := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echo(w, r)
			return
		}
		<-r.Context().Done()
	})
	run := start(t, api, []*fake{startFake(t, nil)}, func(o *Options) { o.Serving.ShutdownGrace = short })
	conn, reader := run.exec(t)
	echoes(t, conn, reader, "one")
	failed := make(chan error, 1)
	go func() {
		answer, err := run.client.Post(run.url+"/api/v1/pods", "application/json", nil) //nolint:noctx // ends with the server
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		failed <- err
	}()
	eventually(t, "the write reached kube-apiserver", func() bool { return len(api.lines()) == 2 })
	run.stop()
	if err := <-run.ended; err != nil {
		t.Error(err)
	}
	if _, err := reader.ReadByte(); err == nil {
		t.Error("the session is still open")
	}
	if err := <-failed; err == nil {
		t.Error("the write was answered")
	}
	if run.logs.FilterMessage("Requests were cut off at the end of the grace period").Len() != 1 {
		t.Errorf("got %v", run.logs.All())
	}
}
