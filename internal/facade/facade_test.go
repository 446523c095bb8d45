package facade

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// alone returns a facade whose upstream cannot be reached.
func alone(t *testing.T, set func(*Config)) *Facade {
	t.Helper()
	c := Defaults()
	c.CertDir, c.Port, c.ShutdownDelay, c.WatchTermination = t.TempDir(), 0, 0, 0
	set(&c)
	f, err := New(t.Context(), c, &rest.Config{Host: "https://127.0.0.1:1"}, zaptest.NewLogger(testkit.UntilEnd(t)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func listen(t *testing.T, f *Facade) net.Listener {
	t.Helper()
	listener, err := Listen(f.config)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serve serves until stop is called, which returns the error of Serve.
func serve(t *testing.T, f *Facade, listener net.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, listener) }()
	return func() error { cancel(); return <-ended }
}

// client returns a client that accepts any certificate and keeps no connection.
func client(version int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, ForceAttemptHTTP2: version == 2, //nolint:gosec // the test's own server
	}}
}

// versions are the HTTP versions that a facade serves.
var versions = []int{1, 2}

// ask returns the code and body of a response.
func ask(t *testing.T, listener net.Listener, path string) (code int, body string) {
	t.Helper()
	return askIn(t, 1, listener, path)
}

// askIn is ask with a version of HTTP.
func askIn(t *testing.T, version int, listener net.Listener, path string) (code int, body string) {
	t.Helper()
	response, err := client(version).Get("https://" + listener.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.ProtoMajor != version {
		t.Errorf("answered in %s", response.Proto)
	}
	return response.StatusCode, string(text)
}

// Without an upstream a facade is live and not ready, and its shutdown leaves nothing behind.
func TestServeWithoutUpstream(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := alone(t, func(c *Config) { c.Preload = []string{"pods"} })
	if err := goleak.Find(before); err != nil {
		t.Errorf("New has started something: %v", err)
	}
	listener := listen(t, f)
	stop := serve(t, f, listener)
	for _, version := range versions {
		if code, body := askIn(t, version, listener, "/livez"); code != http.StatusOK {
			t.Errorf("/livez in HTTP/%d: %d %s", version, code, body)
		}
	}
	code, body := ask(t, listener, "/readyz?verbose")
	if code != http.StatusInternalServerError || !strings.Contains(body, "[-]discovery") || !strings.Contains(body, "[-]preload") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if err := stop(); err != nil {
		t.Errorf("got %v from Serve", err)
	}
	testkit.Eventually(t, "nothing is left", func() error { return goleak.Find(before) })
}

// A request in progress at the shutdown finishes after readiness has failed and before Serve returns.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) { t.Parallel(); drains(t, version) })
	}
}

func drains(t *testing.T, version int) {
	t.Helper()
	f := alone(t, func(*Config) {})
	began, received := make(chan struct{}), make(chan string, 1)
	ready := f.Handler()
	f.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-f.shutdown.draining.Done()
			_, _ = w.Write(make([]byte, 1<<20))
			ready.ServeHTTP(w, r)
		})
	})
	listener := listen(t, f)
	stop := serve(t, f, listener)
	go func() {
		response, err := client(version).Get("https://" + listener.Addr().String() + "/readyz?verbose")
		if err != nil {
			received <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body) // a missing part is detected below
		received <- string(text)
	}()
	<-began
	if err := stop(); err != nil {
		t.Errorf("got %v from Serve", err)
	}
	if text := <-received; len(text) < 1<<20 || !strings.Contains(text, "[-]shutdown") {
		t.Errorf("a request in progress got %d bytes, %q", len(text), text[max(0, len(text)-500):])
	}
}

// At the end of the grace period requests in progress are cut off.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) { t.Parallel(); cutsOff(t, version) })
	}
}

func cutsOff(t *testing.T, version int) {
	t.Helper()
	f := alone(t, func(c *Config) { c.ShutdownGrace = 10 * time.Millisecond })
	began := make(chan struct{})
	f.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
		})
	})
	listener := listen(t, f)
	stop := serve(t, f, listener)
	failed := make(chan error, 1)
	go func() {
		response, err := client(version).Get("https://" + listener.Addr().String() + "/livez")
		if err == nil {
			response.Body.Close()
		}
		failed <- err
	}()
	<-began
	if err := stop(); err != nil {
		t.Errorf("got %v from Serve", err)
	}
	if err := <-failed; err == nil {
		t.Error("got a response, want a broken connection")
	}
}

// A hijacked connection, such as a websocket, has ended before Serve returns.
func TestServeWaitsForHijacked(t *testing.T) {
	t.Parallel()
	f := alone(t, func(*Config) {})
	began, served := make(chan struct{}), make(chan struct{})
	f.Wrap(func(http.Handler) http.Handler {
		return f.shutdown.count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			close(began)
			<-f.shutdown.leaving.Done()
			select {
			case <-served:
				t.Error("Serve has returned before a request ended")
			case <-time.After(500 * time.Millisecond): //pace: a wait that ends early finds less, and never something wrong
			}
		}))
	})
	listener := listen(t, f)
	stop := serve(t, f, listener)
	go func() {
		if response, err := client(1).Get("https://" + listener.Addr().String() + "/livez"); err == nil {
			response.Body.Close()
		}
	}()
	<-began
	if err := stop(); err != nil {
		t.Errorf("got %v from Serve", err)
	}
	close(served)
}

// A part that fails ends the others, and Serve returns its error.
func TestServeEndsWhenAPartFails(t *testing.T) {
	f := alone(t, func(*Config) {})
	listener := listen(t, f)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "serve: ") {
		t.Errorf("got %v from Serve", err)
	}
}

// An aborted facade answers no request, and Serve returns when its context ends.
func TestAbort(t *testing.T) {
	t.Parallel()
	f := alone(t, func(*Config) {})
	listener := listen(t, f)
	stop := serve(t, f, listener)
	if code, _ := ask(t, listener, "/livez"); code != http.StatusOK {
		t.Errorf("/livez: %d", code)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	own := f.pair.now.Load().Certificate[0]
	testkit.Eventually(t, "nothing listens", func() error { return refuses(t, listener.Addr().String(), own) })
	if err := stop(); err != nil {
		t.Errorf("got %v from Serve", err)
	}
}

// refuses returns why connections to an address are not refused. Another test, with another certificate, may soon use a
// free port.
func refuses(t *testing.T, address string, own []byte) error {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), settings.Patience())
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(within, "tcp", address) //nolint:gosec // the test's own server
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = conn.Close() }()
	if bytes.Equal(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, own) {
		return errors.New("the facade answers")
	}
	return nil
}

func TestListenRefuses(t *testing.T) {
	f := alone(t, func(*Config) {})
	listener := listen(t, f)
	t.Cleanup(func() { _ = listener.Close() })
	c := f.config
	c.Port = listener.Addr().(*net.TCPAddr).Port
	if second, err := Listen(c); err == nil {
		_ = second.Close()
		t.Error("listened twice on one address")
	}
}
