package replay

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/journal"
)

// Command returns the command "listfacade replay".
func Command() *cobra.Command {
	o := Options{Listen: defaultListen, Speed: defaultSpeed}
	command := &cobra.Command{
		Use:   "replay --journal-dir DIR --at MOMENT",
		Short: "Serve the cluster as it was, from the journal of a facade",
		Long: "Serve GET, LIST and WATCH as kube-apiserver did at an earlier moment, from the journal of a facade. Watches\n" +
			"then receive the recorded events. Writes are refused. Callers are not authenticated, and every client that can\n" +
			"reach the address can read all recorded objects. Therefore the address must be a loopback address.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	f := command.Flags()
	f.StringVar(&o.Dir, "journal-dir", o.Dir, "`Directory` of the journal. It may be in use by a facade.")
	f.StringVar(&o.At, "at", o.At, "`Moment` to replay: "+journal.MomentForms+".")
	f.Float64Var(&o.Speed, "speed", o.Speed, "`Number` of recorded seconds that pass in each real second.")
	f.BoolVar(&o.Frozen, "frozen", o.Frozen, "Stop the time at the moment of --at, so that watches receive no events.")
	f.StringVar(&o.Listen, "listen", o.Listen, "Loopback `address` and port on which to serve HTTP. Port 0 selects a free port.")
	f.StringVar(&o.Kubeconfig, "write-kubeconfig", o.Kubeconfig,
		"Path of a kubeconfig `file` to write, for programs without a flag for the server.")
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}

// run loads the journal, prints how to use the server, and serves until the context ends.
func run(ctx context.Context, o Options, out io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	log, level, err := facade.NewLogger(facade.Defaults())
	if err != nil {
		return err
	}
	defer level.Stop()
	facade.LogLibraries(log)
	defer func() { _ = log.Sync() }() // fails if stderr does not support Sync
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = listener.Close() }()
	r, err := Open(ctx, o, log)
	if err != nil {
		return err
	}
	defer r.Close()
	server := "http://" + listener.Addr().String()
	if o.Kubeconfig != "" {
		if err := clientcmd.WriteToFile(kubeconfig(server), o.Kubeconfig); err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
	}
	log.Warn("Callers are not authenticated: every client that can reach this address reads all recorded objects",
		zap.String("address", server))
	_, err = fmt.Fprintf(out, "Serving %s. Try\n\n    kubectl --server %s get pods -A\n", r.describe(), server)
	if err != nil {
		return err
	}
	return r.Serve(ctx, listener)
}

func kubeconfig(server string) api.Config {
	const name = "replay"
	config := *api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server}
	config.AuthInfos[name] = &api.AuthInfo{}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config
}
