package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	facadeName = "listfacade"
	// readyEvery is the interval at which await polls a starting facade's /readyz.
	readyEvery = 20 * time.Millisecond
	// A facade must become ready within readyWithin, plus readyObject for each object. Both are much longer than a small
	// machine needs.
	readyWithin = 2 * time.Minute
	readyObject = time.Millisecond
)

// facade is a running listfacade.
type facade struct {
	server  *server
	process *exec.Cmd
	objects int // number of objects for readyObject; 0 if readyWithin is enough
}

// highLimits raises the rate limits of the facade for one caller. One client of the benchmark sends as many requests as
// thousands of real ones.
var highLimits = []string{"--watch-rate-per-user", "100000", "--watch-rate", "100000", "--authz-miss-rate", "100000"}

func buildFacade(ctx context.Context, dir string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(dir, facadeName),
		"github.com/listfacade/listfacade/cmd/listfacade")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as release builds
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build listfacade: %w\n%s", err, out)
	}
	return nil
}

// startFacade starts a facade that buildFacade built, and waits until it is ready. Clients use the credentials of the
// cluster's administrator, as they do with kube-apiserver. The facade has any free port unless flags name one.
func startFacade(ctx context.Context, dir string, cluster *testkit.Cluster, direct *server,
	flags ...string) (*facade, startCost, error) {
	port, err := freePort()
	if err != nil {
		return nil, startCost{}, err
	}
	if i := slices.Index(flags, "--secure-port"); i >= 0 {
		port = flags[i+1]
	}
	say("starting %s", facadeName)
	f := &facade{process: exec.CommandContext(ctx, filepath.Join(dir, facadeName), append([]string{
		"--kubeconfig", cluster.Kubeconfigs["admin"], "--secure-port", port, "--cert-dir", dir, "--profiling", "--log-level",
		"warn",
		"--shutdown-delay-duration", "0", "--goaway-chance", "0",
	}, flags...)...)}
	f.process.Stderr = os.Stderr
	config := rest.CopyConfig(direct.config)
	config.Host = "https://" + net.JoinHostPort("127.0.0.1", port)
	config.CAFile, config.CAData = filepath.Join(dir, "listfacade.crt"), nil
	c, err := f.start(ctx, config, direct)
	return f, c, err
}

// start runs the facade and measures the cost of its start. It stops the process if it fails.
func (f *facade) start(ctx context.Context, config *rest.Config, direct *server) (c startCost, err error) {
	idle, err := direct.process.CPU()
	if err != nil {
		return c, err
	}
	began := time.Now()
	if err := f.process.Start(); err != nil {
		return c, fmt.Errorf("start listfacade: %w", err)
	}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	if err := f.await(ctx, config); err != nil {
		return c, err
	}
	took := time.Since(began)
	busy, err := direct.process.CPU()
	if err != nil {
		return c, err
	}
	c, err = f.server.started(took)
	c.behind = busy - idle
	return c, err
}

// await polls the facade until it is ready. Clients need its serving certificate, which the first start creates.
func (f *facade) await(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin+time.Duration(f.objects)*readyObject)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		err := f.ready(ctx, config)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("listfacade is not ready: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

func (f *facade) ready(ctx context.Context, config *rest.Config) (err error) {
	if f.server == nil {
		f.server, err = newServer(facadeName, proc.Process(f.process.Process.Pid), config)
	}
	if err == nil {
		_, err = f.server.get(ctx, question{name: "readyz", path: "/readyz", accept: "*/*", encoding: "identity",
			protocol: http2}, io.Discard)
	}
	return err
}

func (f *facade) stop() {
	_ = f.process.Process.Signal(syscall.SIGTERM) // the process may have exited already
	_ = f.process.Wait()                          // its exit status is not measured
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
