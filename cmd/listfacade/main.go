package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/internal/assess"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/top"
	"github.com/listfacade/listfacade/internal/verify"
	"github.com/listfacade/listfacade/internal/zpages"
)

// version is the version of the build, set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then terminates the process immediately
	err := command().ExecuteContext(ctx)
	if code := exitCode(err); code != 0 {
		fmt.Fprintln(os.Stderr, "listfacade:", err)
		os.Exit(code)
	}
}

// exitCode returns the result of the method ExitCode if err has one. Otherwise it returns 0 if err is nil or
// context.Canceled, which means that a signal ended the process, and 1 for other errors.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case errors.As(err, &coded):
		return coded.ExitCode()
	case err == nil, errors.Is(err, context.Canceled):
		return 0
	}
	return 1
}

func command() *cobra.Command {
	config := facade.Defaults()
	config.Version = version
	settings, file := flagsOf(&config), ""
	groups := slices.Insert(slices.Clone(settings), 0, configFlags(&file))
	configured := func(run func(context.Context, io.Writer) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				if err := readConfig(file, settings, &config); err != nil {
					return err
				}
			}
			return run(cmd.Context(), cmd.OutOrStdout())
		}
	}
	root := &cobra.Command{
		Use:   "listfacade",
		Short: "Serve reads of the Kubernetes API from a cache in front of one kube-apiserver",
		Long: "listfacade list-watches one kube-apiserver and serves GET, LIST and WATCH as that kube-apiserver would.\n" +
			"Clients use it unchanged, for example: kubectl --server https://127.0.0.1:6443 get pods",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: configured(func(ctx context.Context, _ io.Writer) error {
			config.Flags = zpages.Flags(flagSets(groups)...)
			return facade.Run(ctx, config)
		}),
	}
	check := &cobra.Command{
		Use: "check", Short: "Check the flags, the kubeconfig and its permissions, print the result and exit",
		Args: cobra.NoArgs,
		RunE: configured(func(ctx context.Context, out io.Writer) error { return facade.Check(ctx, config, out) }),
	}
	for _, group := range groups {
		root.Flags().AddFlagSet(group.flags)
		check.Flags().AddFlagSet(group.flags)
	}
	root.AddCommand(check)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage(cmd.OutOrStderr(), groups) })
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "listfacade", version)
			return err
		},
	})
	root.AddCommand(top.Command(), verify.Command(), assess.Command())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
