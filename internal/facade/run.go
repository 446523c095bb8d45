package facade

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"k8s.io/klog/v2"
)

// Run is the process: it logs to stderr, reads the kubeconfig, listens, and serves until the context ends.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	QuietLibraries()
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // stderr may not be syncable
	config, err := RESTConfig(c)
	if err != nil {
		return err
	}
	f, err := New(ctx, c, config, log)
	if err != nil {
		return err
	}
	listener, err := Listen(c)
	if err != nil {
		return err
	}
	return f.Serve(ctx, listener)
}

// Listen takes the address that the Config names.
func Listen(c Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(c.BindAddress.String(), strconv.Itoa(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// QuietLibraries keeps the Kubernetes libraries from logging, in the whole process: they log every request that does
// not parse, with the client's text in it. What matters of it is in our own log.
func QuietLibraries() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
