package facade

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// Run runs the process: it creates the log to stderr, reads the kubeconfig, listens, and serves until the context ends.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	log, level, err := NewLogger(c)
	if err != nil {
		return err
	}
	c.Level = level
	defer level.Stop()
	LogLibraries(log)
	c.MemoryBudget = boundMemory(c.MemoryBudget, log)
	defer boundGarbage()()
	defer func() { _ = log.Sync() }() // stderr does not always support Sync
	config, err := RESTConfig(c)
	if err != nil {
		return err
	}
	if c.SharedAuthority != "" {
		if c.Authority, err = loadAuthority(ctx, c, config, log); err != nil {
			return err
		}
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

// Listen listens on the address of the Config.
func Listen(c Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(c.BindAddress.String(), strconv.Itoa(c.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}
