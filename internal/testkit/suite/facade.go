package suite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Facade is a facade that runs in the test's process, wired as the command wires it.
type Facade struct {
	*facade.Facade
	URL      string
	Config   *rest.Config           // for clients of the facade: no credentials, its certificate trusted
	Logs     *observer.ObservedLogs // warnings and errors
	Lines    *observer.ObservedLogs // these and what is at level info, as an operator has it
	settings facade.Config
	stop     context.CancelFunc
	stopped  chan error
}

// StartFacade serves the cluster until the test ends, with further settings. It acts as a user who may read and nothing
// else.
func StartFacade(t testing.TB, upstream *testkit.Cluster, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	return StartFacadeBy(t, FacadeKubeconfig(t, upstream), settings...)
}

// StartFacadeBy is StartFacade by another way, as whoever the file says.
func StartFacadeBy(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchFacade(t, kubeconfig, settings...)
	f.AwaitReady(t)
	return f
}

// LaunchFacade is StartFacade for an upstream that may be in no state to get ready with.
func LaunchFacade(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := NewFacade(t, kubeconfig, settings...)
	f.Listen(t)
	return f
}

// NewFacade makes a facade that does not listen yet.
func NewFacade(t testing.TB, kubeconfig string, changes ...func(*facade.Config)) *Facade {
	t.Helper()
	c := facade.Defaults()
	c.Kubeconfig, c.CertDir, c.Port = kubeconfig, t.TempDir(), 0
	c.Authentication.AnonymousActsAsKubeconfig = true // but where a suite is about who asks
	c.PagedFrom = 1                                   // as if there were many objects
	c.SelfAuditInterval = 0                           // but where a suite is about that
	c.ShutdownDelay, c.WatchTermination = 0, 0        // but where a suite is about the end of a process
	c.GoawayChance = 0                                // nothing happens by chance
	c.PeerWait, c.WriteTimeout = Patience, Patience   // but where a suite is about slow clients
	if c.Packing = (facade.Packing{}); settings.Packs() {
		c.Packing = facade.Packing{From: 1}
	}
	if settings.Smallest() {
		c.PrecompressedMemory, c.HistoryBytes, c.HistoryWindow = 1, 1, 1
		c.MemoryBudget, c.MemoryMarks.History = 1<<40, 0 // cut every second
	}
	for _, change := range changes {
		change(&c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	config, err := facade.RESTConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	warnings, logs := observer.New(zap.WarnLevel)
	all, lines := observer.New(zap.InfoLevel)
	tee := zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, warnings, all) })
	f, err := facade.New(t.Context(), c, config, zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel), zaptest.WrapOptions(tee)))
	if err != nil {
		t.Fatal(err)
	}
	return &Facade{Facade: f, settings: c, Logs: logs, Lines: lines, stopped: make(chan error, 1)}
}

// Unpacked has a facade compress nothing, where a test has megabytes of objects and is about something else: with the
// race detector each takes milliseconds, a hundred times as long as without.
func Unpacked(c *facade.Config) { c.Packing = facade.Packing{} }

// Listen serves until the test ends. A port that another facade had a moment ago may be in use for a while yet.
func (f *Facade) Listen(t testing.TB) {
	t.Helper()
	c := f.settings
	var listener net.Listener
	testkit.Eventually(t, "the port is free", func() (err error) {
		listener, err = facade.Listen(c)
		return err
	})
	f.URL = "https://" + listener.Addr().String()
	f.Config = &rest.Config{Host: f.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(c.CertDir, "listfacade.crt")}, QPS: -1}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go func() { f.stopped <- f.Serve(ctx, listener) }()
	t.Cleanup(func() { f.Close(t) })
}

// Close drains the facade; it may be called more than once.
func (f *Facade) Close(t testing.TB) {
	t.Helper()
	f.stop()
	err, open := <-f.stopped
	if open && err != nil {
		t.Errorf("the facade ended with: %v", err)
	}
	if open {
		close(f.stopped)
	}
}

// AwaitReady waits until the facade says that it is ready.
func (f *Facade) AwaitReady(t testing.TB) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // the test's own server
	}}
	testkit.Eventually(t, "the facade is ready", func() error {
		response, err := client.Get(f.URL + "/readyz?verbose")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("readyz: %s", body)
		}
		return err
	})
}

// HTTP1Client is an HTTP client without any of client-go's caches that speaks HTTP/1.1.
func (f *Facade) HTTP1Client(t testing.TB) *http.Client {
	t.Helper()
	return f.plainClient(t, &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}})
}

// HTTP2Client is the same for HTTP/2.
func (f *Facade) HTTP2Client(t testing.TB) *http.Client {
	t.Helper()
	return f.plainClient(t, &http.Transport{ForceAttemptHTTP2: true})
}

func (f *Facade) plainClient(t testing.TB, transport *http.Transport) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(f.Config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Watchers is how many watches are open on a resource.
func (f *Facade) Watchers(resource string) int {
	open := 0
	for _, lane := range f.Lanes() {
		if lane.Resource == resource {
			open += lane.Watchers
		}
	}
	return open
}
