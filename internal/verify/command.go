package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are the flags of the command, beside those that say whom it asks.
type Options struct {
	Resources []string // as in deployments.apps; all that can be listed and watched where there are none
	Encodings []string // json, protobuf
	Limit     int      // objects of a page
	Shown     int      // differences of a resource that are printed at most
}

// Command is "listfacade verify".
func Command() *cobra.Command {
	var o Options
	var against, context string
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var overrides clientcmd.ConfigOverrides
	command := &cobra.Command{
		Use:   "verify --against FILE [resource ...]",
		Short: "Compare what a facade answers with what its kube-apiserver does",
		Long: "Compare a running facade with the kube-apiserver that it reads from: names, resourceVersions and bytes of all objects, each\n" +
			"resource at one exact resourceVersion. Which facade, and as whom, is said as to kubectl. Resources are named as in\n" +
			"deployments.apps; all that can be listed and watched are compared where none is. To list them is all that is needed, in both.\n" +
			"What the facade passes through to kube-apiserver whole is said, and not compared. Ends with 0 when all that was compared is\n" +
			"equal, 1 when something differs, 2 when something could not be compared, or was passed through in part, or nothing was\n" +
			"compared, or it cannot be told what was passed through.",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Resources = args
			facade, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
			if err != nil {
				return &Error{Err: fmt.Errorf("read the kubeconfig: %w", err)}
			}
			upstream, err := configOf(against, context)
			if err != nil {
				return &Error{Err: err}
			}
			return Run(cmd.Context(), facade, upstream, o, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&against, "against", "", "kubeconfig `file` of the kube-apiserver that the facade reads from")
	flags.StringVar(&context, "against-context", "", "`name` of the context to use of it")
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "kubeconfig `file` of the facade; KUBECONFIG, or kubectl's own, when empty")
	clientcmd.BindOverrideFlags(&overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	flags.StringSliceVar(&o.Encodings, "encodings", []string{"json", "protobuf"}, "`encodings` to compare")
	flags.IntVar(&o.Limit, "limit", 500, "how `many` objects are asked for at a time")
	flags.IntVar(&o.Shown, "shown", 10, "how `many` differences of a resource are printed at most")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // not that of the command above it
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(), cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}

// configOf reads the kubeconfig of the kube-apiserver, which has to be named: a default would be the facade's.
func configOf(file, context string) (*rest.Config, error) {
	if file == "" {
		return nil, errors.New("--against is needed: a kubeconfig of the kube-apiserver that the facade reads from")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read --against %s: %w", file, err)
	}
	return config, nil
}

// validate refuses what cannot be meant.
func (o Options) validate() error {
	if o.Limit <= 0 || o.Shown < 0 {
		return errors.New("--limit must be above 0, and --shown not below")
	}
	for _, name := range o.Encodings {
		if accepts[name] == "" {
			return fmt.Errorf("--encodings %q: json or protobuf", name)
		}
	}
	if len(o.Encodings) == 0 || len(slices.Compact(slices.Sorted(slices.Values(o.Encodings)))) != len(o.Encodings) {
		return errors.New("--encodings: json, protobuf or both, each once")
	}
	return nil
}
