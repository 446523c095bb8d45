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

// Facade is a facade in the test's process, wired as in the command.
type Facade struct {
	*facade.Facade
	URL      string
	Config   *rest.Config           // for clients of the facade, without credentials
	Logs     *observer.ObservedLogs // warnings and errors
	Lines    *observer.ObservedLogs // lines from level info, the default
	settings facade.Config
	stop     context.CancelFunc
	stopped  chan error
}

// StartFacade starts a facade of the cluster until the test ends. It acts as the user of FacadeKubeconfig.
func StartFacade(t testing.TB, upstream *testkit.Cluster, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	return StartFacadeBy(t, FacadeKubeconfig(t, upstream), settings...)
}

// StartFacadeBy is StartFacade with the server and user of a kubeconfig.
func StartFacadeBy(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchFacade(t, kubeconfig, settings...)
	f.AwaitReady(t)
	return f
}

// LaunchFacade is StartFacadeBy that does not wait until the facade is ready.
func LaunchFacade(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := NewFacade(t, kubeconfig, settings...)
	f.Listen(t)
	return f
}

// NewFacade returns a facade that does not listen yet.
func NewFacade(t testing.TB, kubeconfig string, changes ...func(*facade.Config)) *Facade {
	t.Helper()
	c := facade.Defaults()
	c.Kubeconfig, c.CertDir, c.Port = kubeconfig, t.TempDir(), 0
	c.Authentication.AnonymousActsAsKubeconfig = true // suites about callers change it
	c.PagedFrom = 1                                   // lists are paged, as with many objects
	c.SelfAuditInterval = 0                           // suites about self-audits change it
	c.ShutdownDelay, c.WatchTermination = 0, 0        // suites about shutdown change it
	c.GoawayChance = 0                                // to be repeatable
	c.PeerWait = Patience                             // for busy machines
	c.WriteTimeout = Patience                         // suites about slow clients change it
	if c.Packing = (facade.Packing{}); settings.Packs() {
		c.Packing = facade.Packing{From: 1}
	}
	if settings.Smallest() {
		c.PrecompressedMemory, c.HistoryBytes, c.HistoryWindow = 1, 1, 1
		c.MemoryBudget, c.MemoryMarks.History = 1<<40, 0 // the history is cut every second
	}
	if settings.ReviewsTokens() {
		c.Authentication.ServiceAccountTokens = facade.ReviewedTokens
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
	f, err := facade.New(t.Context(), c, config,
		zaptest.NewLogger(testkit.UntilEnd(t), zaptest.Level(zap.WarnLevel), zaptest.WrapOptions(tee)))
	if err != nil {
		t.Fatal(err)
	}
	return &Facade{Facade: f, settings: c, Logs: logs, Lines: lines, stopped: make(chan error, 1)}
}

// Unpacked disables compression of objects in memory, for tests with megabytes of objects. With the race detector
// compression takes milliseconds per object, a hundred times as long as without.
func Unpacked(c *facade.Config) { c.Packing = facade.Packing{} }

// ReviewedTokens makes a facade send a TokenReview for each token of a service account.
func ReviewedTokens(c *facade.Config) {
	c.Authentication.ServiceAccountTokens = facade.ReviewedTokens
}

// Listen serves until the test ends. It retries, because a port that another facade has just closed may still be in
// use.
func (f *Facade) Listen(t testing.TB) {
	t.Helper()
	c := f.settings
	var listener net.Listener
	testkit.Eventually(t, "the port is free", func() (err error) {
		listener, err = facade.Listen(c)
		return err
	})
	f.URL = "https://" + listener.Addr().String()
	f.Config = &rest.Config{Host: f.URL,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(c.CertDir, "listfacade.crt")}, QPS: -1}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	go func() { f.stopped <- f.Serve(ctx, listener) }()
	t.Cleanup(func() { f.Close(t) })
}

// Close drains the facade. It may be called more than once.
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

// AwaitReady waits until the facade is ready.
func (f *Facade) AwaitReady(t testing.TB) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // the test's own server
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

// HTTP1Client returns a client for HTTP/1.1 that does not share connections with other clients.
func (f *Facade) HTTP1Client(t testing.TB) *http.Client {
	t.Helper()
	return f.plainClient(t, &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}})
}

// HTTP2Client is HTTP1Client for HTTP/2.
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

// Watchers returns the number of open watches of a resource.
func (f *Facade) Watchers(resource string) int {
	open := 0
	for _, lane := range f.Lanes() {
		if lane.Resource == resource {
			open += lane.Watchers
		}
	}
	return open
}
