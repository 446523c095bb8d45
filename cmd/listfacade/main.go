package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/internal/assess"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/replay"
	"github.com/listfacade/listfacade/internal/split"
	"github.com/listfacade/listfacade/internal/timeline"
	"github.com/listfacade/listfacade/internal/top"
	"github.com/listfacade/listfacade/internal/verify"
	"github.com/listfacade/listfacade/internal/zpages"
)

// version is the version of the build, and repository the URL of the repository's files, without a slash at its end.
// The linker sets them.
var version, repository = "devel", ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then terminates the process immediately
	err := command(filepath.Base(os.Args[0])).ExecuteContext(ctx)
	if code := exitCode(err); code != 0 {
		fmt.Fprintln(os.Stderr, "listfacade:", message(err))
		if text := advice(err); text != "" {
			fmt.Fprintln(os.Stderr, text)
		}
		os.Exit(code)
	}
}

// message returns the text of an error. It replaces unprintable characters, because an error can contain names that any
// user with permission to create objects can choose.
func message(err error) string { return observe.PrintableLines(err.Error()) }

// exitCode returns the result of the method ExitCode if err has one. Otherwise it returns 1 for an error, except for
// context.Canceled, which means that a signal ended the process.
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

// Names of the program. For "kubectl listfacade", kubectl runs a program with the second name.
const (
	facadeName = "listfacade"
	pluginName = "kubectl-listfacade"
)

// command returns the root command for the name of the program's file.
func command(name string) *cobra.Command {
	config := facade.Defaults()
	config.Version, config.Repository = version, repository
	s := newOptions(&config)
	root := facadeCommand(s)
	if name == pluginName {
		root = pluginCommand()
	}
	root.SilenceUsage, root.SilenceErrors, root.Args, root.Version = true, true, cobra.NoArgs, version
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(checkCommand(s), top.Command(), verify.Command(), assess.Command())
	root.AddCommand(versionCommand(), completionCommand())
	return root
}

// facadeCommand returns the command that serves. Subcommands without their own usage function use its usage function.
func facadeCommand(s *options) *cobra.Command {
	root := &cobra.Command{
		Use:   facadeName,
		Short: "Serve reads of the Kubernetes API from a cache in front of kube-apiserver",
		Long: "listfacade lists and watches the resources of kube-apiserver, and serves GET, LIST and WATCH as kube-apiserver would.\n" +
			"Clients use it unchanged, for example: kubectl --server https://127.0.0.1:6443 get pods",
		RunE: s.configured(func(ctx context.Context, _ io.Writer) error {
			s.config.Flags = zpages.Flags(flagSets(s.groups)...)
			return facade.Run(ctx, *s.config)
		}),
	}
	s.addTo(root)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage(cmd.OutOrStderr(), s.groups) })
	root.AddCommand(split.Command(), replay.Command(), timeline.DiffCommand(), timeline.LogCommand())
	return root
}

// pluginCommand returns the root command of kubectl's plugin, which serves nothing.
func pluginCommand() *cobra.Command {
	return &cobra.Command{
		Use:         pluginName,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl listfacade"},
		Short:       "Inspect a facade of the Kubernetes API, and compare it with its kube-apiserver",
	}
}

func checkCommand(s *options) *cobra.Command {
	check := &cobra.Command{
		Use: "check", Short: "Check the flags, the kubeconfig and its permissions, print the result and exit",
		Args: cobra.NoArgs,
		RunE: s.configured(func(ctx context.Context, out io.Writer) error { return facade.Check(ctx, *s.config, out) }),
	}
	s.addTo(check)
	return check
}
