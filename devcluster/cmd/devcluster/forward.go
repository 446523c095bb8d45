package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/spf13/cobra"
)

func newForward() *cobra.Command {
	var listen, to string
	command := &cobra.Command{
		Use:   "forward",
		Short: "Pass TCP connections on to another address: the way to a server that listens on loopback inside a container",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "", "host:port to listen on")
	flags.StringVar(&to, "to", "", "host:port to pass connections on to")
	_ = command.MarkFlagRequired("listen") // fails only for a flag that does not exist
	_ = command.MarkFlagRequired("to")
	command.RunE = func(command *cobra.Command, _ []string) error {
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		fmt.Fprintf(command.OutOrStdout(), "%s leads to %s\n", listener.Addr(), to)
		return forward(command.Context(), listener, to)
	}
	return command
}

// forward serves the listener until ctx ends, then cuts every connection and waits for their goroutines.
func forward(ctx context.Context, listener net.Listener, to string) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() }) // makes Accept return
	defer stop()
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			connections.Go(func() { pass(ctx, conn, to) })
		case ctx.Err() != nil:
			return nil
		default:
			return fmt.Errorf("accept: %w", err)
		}
	}
}

// pass copies both ways until both ends are done. An end of one direction is passed on as such.
func pass(ctx context.Context, client net.Conn, to string) {
	defer func() { _ = client.Close() }()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return // the client sees its connection end, as it would without us
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = errors.Join(client.Close(), server.Close()) })
	defer stop()
	var up sync.WaitGroup
	up.Go(func() { copyHalf(server, client) })
	copyHalf(client, server)
	up.Wait()
}

// copyHalf copies one direction and closes it at its end. Errors need no report: they show at both ends.
func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
