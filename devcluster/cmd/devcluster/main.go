// Command devcluster runs a real etcd and kube-apiserver for developers, tests and benchmarks; see package devcluster.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "Run a real Kubernetes control plane on this machine",
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
	}
	root.AddCommand(newUp(), newBuild(), newCerts(), newObjects(), newProbe())
	return root
}
