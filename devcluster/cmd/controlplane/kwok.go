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

// kwok replaces the process's set of flags: Kubernetes' packages have declared a version flag there that is
// not the boolean of kwok's command.
func kwok() {
	pflag.CommandLine = pflag.NewFlagSet(string(binaries.Kwok), pflag.ContinueOnError)
	if err := runKwok(signals.SetupSignalContext()); err != nil {
		fmt.Fprintf(os.Stderr, "kwok: %v\n", err)
		os.Exit(1)
	}
}

// runKwok reads the flags twice: --config and the level of the log decide which defaults the other flags have, so they
// are needed before the command is made.
func runKwok(ctx context.Context) error {
	early := pflag.NewFlagSet("global", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {} // the command has its own
	ctx, _ = log.InitFlags(ctx, early)
	ctx, err := config.InitFlags(ctx, early)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(early)
	return command.ExecuteContext(ctx)
}
