package top

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/internal/accounting"
)

// Options are the flags of the command, without kubectl's flags.
type Options struct {
	By       string
	Window   time.Duration
	Limit    int
	Interval time.Duration
	Once     bool // print one table and exit
}

// Command returns the command "listfacade top".
func Command() *cobra.Command {
	var o Options
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var overrides clientcmd.ConfigOverrides
	command := &cobra.Command{
		Use:   "top",
		Short: "Show the clients of a facade and what their requests cost",
		Long: "Show the clients of a running facade and what their requests cost, and refresh the table at an interval.\n" +
			"The facade and the user are selected by kubectl's flags. The user needs permission to get the nonResourceURL\n" +
			Path + ".",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
			if err != nil {
				return fmt.Errorf("read kubeconfig: %w", err)
			}
			return Run(cmd.Context(), config, o, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "",
		"Path of the kubeconfig `file`. If empty, KUBECONFIG or kubectl's default file is used.")
	clientcmd.BindOverrideFlags(&overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	flags.StringVar(&o.By, "by", accounting.Bytes.String(),
		"Kind of `cost` by which clients are sorted: bytes, cpu, objects, forwarded or events.")
	flags.DurationVar(&o.Window, "window", 5*time.Minute, "Period for which costs are added up, at most 15m.")
	flags.IntVar(&o.Limit, "limit", 50, "Maximum `number` of clients to show.")
	flags.DurationVar(&o.Interval, "interval", 2*time.Second, "Time between two requests.")
	flags.BoolVar(&o.Once, "once", false, "Print one table and exit.")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}
