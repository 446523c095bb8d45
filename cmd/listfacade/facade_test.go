package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// cluster is the real upstream that the tests of this package share. Tests that stop or pause it start their own.
var cluster *testkit.Cluster

func TestMain(m *testing.M) {
	facade.QuietLibraries()
	os.Exit(func() int {
		var err error
		if cluster, err = testkit.StartCluster(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer cluster.Close()
		return m.Run()
	}())
}

// running is a facade that runs in the test's process, wired as the command wires it.
type running struct {
	URL     string
	Config  *rest.Config // for clients of the facade: no credentials, its certificate trusted
	facade  *facade.Facade
	config  facade.Config
	logs    *observer.ObservedLogs // warnings and errors
	stop    context.CancelFunc
	stopped chan error
}

// startFacade serves the cluster's user "admin" until the test ends, with further settings.
func startFacade(t *testing.T, upstream *testkit.Cluster, settings ...func(*facade.Config)) *running {
	t.Helper()
	run := launchFacade(t, upstream.Kubeconfigs["admin"], settings...)
	run.awaitReady(t)
	return run
}

// launchFacade is startFacade for an upstream that may be in no state to get ready with.
func launchFacade(t *testing.T, kubeconfig string, settings ...func(*facade.Config)) *running {
	t.Helper()
	run := wireFacade(t, kubeconfig, settings...)
	run.listen(t)
	return run
}

// wireFacade makes a facade that does not listen yet.
func wireFacade(t *testing.T, kubeconfig string, settings ...func(*facade.Config)) *running {
	t.Helper()
	c := facade.Defaults()
	c.Kubeconfig, c.CertDir, c.Port = kubeconfig, t.TempDir(), 0
	for _, set := range settings {
		set(&c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	config, err := facade.RESTConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	tee := zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, core) })
	f, err := facade.New(t.Context(), c, config, zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel), zaptest.WrapOptions(tee)))
	if err != nil {
		t.Fatal(err)
	}
	return &running{facade: f, config: c, logs: logs, stopped: make(chan error, 1)}
}

// listen serves until the test ends. A port that another facade had a moment ago may be in use for a while yet.
func (r *running) listen(t *testing.T) {
	t.Helper()
	c := r.config
	var listener net.Listener
	testkit.Eventually(t, within, "the port is free", func() (err error) {
		listener, err = facade.Listen(c)
		return err
	})
	r.URL = "https://" + listener.Addr().String()
	r.Config = &rest.Config{Host: r.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(c.CertDir, "listfacade.crt")}, QPS: -1}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.stopped <- r.facade.Serve(ctx, listener) }()
	t.Cleanup(func() { r.close(t) })
}

// close drains the facade; it may be called more than once.
func (r *running) close(t *testing.T) {
	t.Helper()
	r.stop()
	err, open := <-r.stopped
	if open && err != nil {
		t.Errorf("the facade ended with: %v", err)
	}
	if open {
		close(r.stopped)
	}
}

func (r *running) awaitReady(t *testing.T) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // the test's own server
	}}
	testkit.Eventually(t, 30*time.Second, "the facade is ready", func() error {
		response, err := client.Get(r.URL + "/readyz?verbose")
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
