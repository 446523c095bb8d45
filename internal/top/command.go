package top

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/internal/accounting"
)

// Options are the flags of the command, beside those that say whom it asks.
type Options struct {
	By       string
	Window   time.Duration
	Limit    int
	Interval time.Duration
	Once     bool // one table, and no more
}

// Command is "listfacade top".
func Command() *cobra.Command {
	var o Options
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var overrides clientcmd.ConfigOverrides
	command := &cobra.Command{
		Use:   "top",
		Short: "Show who reads what from a facade at what cost",
		Long: "Show who reads what from a running facade at what cost, again and again; needs the right to get the nonResourceURL\n" +
			Path + " of it. Whom it asks, and as whom, is said as to kubectl.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			return Run(cmd.Context(), config, o, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "kubeconfig `file`; KUBECONFIG, or kubectl's own, when empty")
	clientcmd.BindOverrideFlags(&overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	flags.StringVar(&o.By, "by", accounting.Bytes.String(), "the `cost` that clients are sorted by: bytes, cpu, objects, forwarded or events")
	flags.DurationVar(&o.Window, "window", 5*time.Minute, "how far back is looked, 15m at most")
	flags.IntVar(&o.Limit, "limit", 50, "how `many` clients are shown at most")
	flags.DurationVar(&o.Interval, "interval", 2*time.Second, "how often is looked")
	flags.BoolVar(&o.Once, "once", false, "print one table and end")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // not that of the command above it
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(), cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}
