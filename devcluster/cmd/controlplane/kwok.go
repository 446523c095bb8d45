package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
)

// kwok runs kwok. Before that, it replaces the global flag set, because packages of Kubernetes have declared a version
// flag there that conflicts with the boolean flag of kwok's command.
func kwok() {
	pflag.CommandLine = pflag.NewFlagSet(string(binaries.Kwok), pflag.ContinueOnError)
	if err := runKwok(signals.SetupSignalContext()); err != nil {
		fmt.Fprintf(os.Stderr, "kwok: %v\n", err)
		os.Exit(1)
	}
}

// runKwok parses the flags twice. The values of --config and of the log level determine the defaults of the other
// flags, so they are needed before the command is created.
func runKwok(ctx context.Context) error {
	early := pflag.NewFlagSet("global", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {} // the command has its own usage
	ctx, _ = log.InitFlags(ctx, early)
	ctx, err := config.InitFlags(ctx, early)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(early)
	return command.ExecuteContext(ctx)
}
