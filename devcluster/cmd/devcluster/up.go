package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/devcluster"
)

// errStdin is the cause of the cluster's end with --exit-with-stdin.
var errStdin = errors.New("standard input was closed")

type upFlags struct {
	components    []string
	json          bool
	keep          bool
	demo          bool
	fsync         bool
	exitWithStdin bool
	eventsEtcd    bool
	optimized     bool
}

func newUp() *cobra.Command {
	var o devcluster.Options
	var f upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, print how to use it, and run it until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
	}
	flags := command.Flags()
	addSourceFlags(flags, sourceFlags{&o.ModuleDir, &o.Release, &o.CacheDir})
	flags.StringSliceVar(&f.components, "components", []string{"all"},
		"components in addition to etcd and kube-apiserver: "+
			"kube-controller-manager, kube-scheduler, kwok; or all, or none")
	flags.IntVar(&o.Nodes, "nodes", 3, "number of nodes that kwok simulates")
	flags.StringVar(&o.Dir, "dir", "", "directory for all files, which is not removed at the end (default: a temporary directory)")
	flags.StringArrayVar(&o.APIServer, "apiserver-arg", nil, "additional flag of kube-apiserver; may be repeated")
	flags.StringArrayVar(&o.Etcd, "etcd-arg", nil, "additional flag of etcd; may be repeated")
	flags.IntVar(&o.APIServers, "apiservers", 1,
		"number of kube-apiservers on the same etcd; further ones are named kube-apiserver-2 and up")
	flags.BoolVar(&f.eventsEtcd, "events-etcd", false,
		"store events in a separate etcd, etcd-2; short for --separate-etcd events")
	flags.StringArrayVar(&o.SeparateEtcd, "separate-etcd", nil,
		"resource to store in etcd-2, such as events or coordination.k8s.io/leases; may be repeated")
	flags.BoolVar(&f.optimized, "optimized", false, optimizedUsage)
	flags.BoolVar(&f.json, "json", false, "print one line of JSON when the cluster is ready")
	flags.BoolVar(&f.keep, "keep", false, "keep the temporary directory")
	flags.BoolVar(&f.demo, "demo", false, "create a few demo objects")
	flags.BoolVar(&f.fsync, "fsync", false, "let etcd sync its writes to disk, as in production")
	flags.BoolVar(&f.exitWithStdin, "exit-with-stdin", false, "end the cluster when standard input is closed")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := f.apply(&o); err != nil {
			return err
		}
		ctx := command.Context()
		if f.exitWithStdin {
			ctx = untilStdinCloses(ctx, command.InOrStdin())
		}
		return up(ctx, o, f.report(command.OutOrStdout()))
	}
	return command
}

func (f *upFlags) apply(o *devcluster.Options) (err error) {
	if o.Components, err = devcluster.ParseComponents(f.components); err != nil {
		return err
	}
	if f.eventsEtcd && !slices.Contains(o.SeparateEtcd, "events") {
		o.SeparateEtcd = append(o.SeparateEtcd, "events")
	}
	if f.keep {
		o.Keep = devcluster.Preserve
	}
	if f.demo {
		o.Demo = devcluster.WithDemo
	}
	if f.fsync {
		o.Sync = devcluster.Durable
	}
	if f.optimized {
		o.Code = devcluster.Optimized
	}
	o.Progress = os.Stderr
	return nil
}

func (f *upFlags) report(w io.Writer) func(devcluster.Info, time.Duration) error {
	if f.json {
		return func(info devcluster.Info, _ time.Duration) error { return json.NewEncoder(w).Encode(info) }
	}
	return func(info devcluster.Info, took time.Duration) error { return writeText(w, info, took) }
}

// up runs a cluster until ctx ends or a server exits unexpectedly. Only an unexpected exit is an error.
func up(ctx context.Context, o devcluster.Options, report func(devcluster.Info, time.Duration) error) (err error) {
	start := time.Now()
	cluster, err := devcluster.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if err := report(cluster.Info(), time.Since(start)); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-cluster.Failed():
		return err
	}
}

// untilStdinCloses returns a context that ends when stdin ends. Its goroutine ends when stdin or the process ends.
func untilStdinCloses(ctx context.Context, stdin io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // an error counts as the end
		cancel(errStdin)
	}()
	return ctx
}
