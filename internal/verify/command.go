package verify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are the flags of the command, except those that select the servers.
type Options struct {
	Resources []string // names such as deployments.apps; empty for all that can be listed and watched
	Encodings []string // encodings to compare: json, protobuf
	Limit     int      // maximum number of objects per page
	Shown     int      // maximum number of differences printed per resource
}

// Command returns the command "listfacade verify".
func Command() *cobra.Command {
	var o Options
	var against, context string
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var overrides clientcmd.ConfigOverrides
	command := &cobra.Command{
		Use:   "verify [--against FILE] [resource ...]",
		Short: "Compare the responses of a facade with those of its kube-apiserver",
		Long: "Compare a running facade with the kube-apiserver that it reads from. Names, resourceVersions and bytes of all objects are\n" +
			"compared, for each resource at one exact resourceVersion. The facade and the user are selected as in kubectl. Resources are\n" +
			"named as in deployments.apps. Without names, all resources that can be listed and watched are compared. The user only needs\n" +
			"permission to list them, on both servers. Responses that the facade forwards from kube-apiserver are reported, but not\n" +
			"compared. In the facade's own pod, no flags are needed: that facade is compared with the kube-apiserver of the cluster, with\n" +
			"the pod's service account. Exit codes: 0 when everything was equal; 1 when something differs; 2 when something could not be compared or was\n" +
			"partly forwarded, when nothing was compared, or when it is unknown which responses were forwarded.",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Resources = args
			if facade, upstream, ok := inPod(cmd.Flags(), rest.InClusterConfig); ok {
				return Run(cmd.Context(), facade, upstream, o, cmd.OutOrStdout())
			}
			facade, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
			if err != nil {
				return &Error{Err: fmt.Errorf("read kubeconfig: %w", err)}
			}
			upstream, err := configOf(against, context)
			if err != nil {
				return &Error{Err: err}
			}
			return Run(cmd.Context(), facade, upstream, o, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&against, "against", "", "Path of the kubeconfig `file` of the kube-apiserver that the facade reads from.")
	flags.StringVar(&context, "against-context", "",
		"Context of the --against file to use (a `name`). If empty, the current context of this file is used.")
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "",
		"Path of the kubeconfig `file` of the facade. If empty, KUBECONFIG or kubectl's default file is used.")
	clientcmd.BindOverrideFlags(&overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	flags.StringSliceVar(&o.Encodings, "encodings", []string{"json", "protobuf"},
		"List of `encodings` to compare: json, protobuf or both.")
	flags.IntVar(&o.Limit, "limit", 500, "Maximum `number` of objects per page.")
	flags.IntVar(&o.Shown, "shown", 10, "Maximum `number` of differences printed per resource. 0 prints only the number of differences.")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}

// inPod returns both configurations if the command runs in a facade's own pod. ok is false outside a pod, or if a flag
// selects a server. The facade's certificate is not verified, because the connection does not leave the pod.
func inPod(flags *pflag.FlagSet, inCluster func() (*rest.Config, error)) (facade, upstream *rest.Config, ok bool) {
	for _, name := range []string{"against", "kubeconfig", "context", "cluster", "user", "server"} {
		if flags.Changed(name) {
			return nil, nil, false
		}
	}
	upstream, err := inCluster()
	if err != nil {
		return nil, nil, false
	}
	facade = rest.CopyConfig(upstream)
	facade.Host, facade.TLSClientConfig = "https://localhost:6443", rest.TLSClientConfig{Insecure: true}
	return facade, upstream, true
}

// configOf reads the kubeconfig of the kube-apiserver. The argument file has no default, because kubectl's default
// kubeconfig selects the facade.
func configOf(file, context string) (*rest.Config, error) {
	if file == "" {
		return nil, errors.New("--against is required: kubeconfig of the kube-apiserver that the facade reads from")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file},
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read --against %s: %w", file, err)
	}
	return config, nil
}

func (o Options) validate() error {
	if o.Limit <= 0 || o.Shown < 0 {
		return errors.New("--limit must be greater than 0, and --shown must not be negative")
	}
	for _, name := range o.Encodings {
		if accepts[name] == "" {
			return fmt.Errorf("--encodings contains %q, want json or protobuf", name)
		}
	}
	if len(o.Encodings) == 0 || len(slices.Compact(slices.Sorted(slices.Values(o.Encodings)))) != len(o.Encodings) {
		return errors.New("--encodings must be json, protobuf, or json,protobuf")
	}
	return nil
}
