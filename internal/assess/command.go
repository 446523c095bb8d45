package assess

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

// Command returns the command "listfacade assess".
func Command() *cobra.Command {
	var o Options
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var overrides clientcmd.ConfigOverrides
	command := &cobra.Command{
		Use:   "assess [audit log ...]",
		Short: "Show the cost of each client at a kube-apiserver, and the part that a facade would save",
		Long: "Show the cost of each client at a kube-apiserver, the clients that a facade can serve, and the cost that it would save.\n" +
			"Audit logs are files with JSON lines, which may be compressed with gzip; - is the standard input. They need the level\n" +
			"Metadata. Without a log, the kube-apiserver itself is sampled for --sample-for. This is less exact. The server and the\n" +
			"user are selected as in kubectl. The user needs permission to get the nonResourceURLs " + metricsPath + " and\n" +
			dumpPath + ". With a log, the sizes of objects come from --metrics or --kubeconfig.",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = args
			var live *Live
			if selected := cmd.Flags().Changed; len(args) == 0 || selected(clientcmd.RecommendedConfigPathFlag) ||
				selected(clientcmd.FlagContext) || selected(clientcmd.FlagAPIServer) {
				config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
				if err != nil {
					return fmt.Errorf("read kubeconfig: %w", err)
				}
				if live, err = NewLive(config); err != nil {
					return err
				}
				defer live.Close()
			}
			return Run(cmd.Context(), o, live, Streams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()})
		},
	}
	flags := command.Flags()
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "",
		"Path of the kubeconfig `file` of the kube-apiserver. If empty, KUBECONFIG or kubectl's default file is used. If a log is given, this default applies only if --context or --server is set.")
	clientcmd.BindOverrideFlags(&overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	flags.StringVar(&o.Metrics, "metrics", "", "Path of a `file` with the /metrics of the kube-apiserver, for the sizes of objects.")
	flags.StringVarP(&o.Output, "output", "o", "table", "Format of the report: table or json.")
	flags.IntVar(&o.Limit, "limit", 30, "Maximum `number` of clients to show. 0 means all.")
	flags.DurationVar(&o.SampleFor, "sample-for", time.Minute, "Time between two scrapes of a kube-apiserver's metrics, if no log is given. At least 2s.")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}
