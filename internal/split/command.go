package split

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command returns the command "listfacade split".
func Command() *cobra.Command {
	o := DefaultOptions()
	command := &cobra.Command{
		Use:   "split --kube-apiserver URL --facade URL",
		Short: "Serve reads of a facade and writes of kube-apiserver at one address",
		Long: "Serve one address for clients that read and write. Discovery, and GET, LIST and WATCH of most resources, are sent to a\n" +
			"facade, all other requests to kube-apiserver. Requests keep the caller's bearer token; the proxy has no credentials.\n" +
			"Client certificates cannot be passed on. A caller with only a certificate is refused.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return Run(cmd.Context(), o) },
	}
	targetFlags(&o, command.Flags())
	servingFlags(&o, command.Flags())
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
	return command
}

func targetFlags(o *Options, f *pflag.FlagSet) {
	f.StringVar(&o.KubeAPIServer, "kube-apiserver", o.KubeAPIServer, "`URL` of kube-apiserver.")
	f.StringVar(&o.KubeAPIServerCAFile, "kube-apiserver-ca-file", o.KubeAPIServerCAFile,
		"Path of the `file` with the CA certificates that verify kube-apiserver. A changed file applies to new requests. If "+
			"empty, those of the system are used.")
	f.StringSliceVar(&o.Facades, "facade", o.Facades,
		"`URL` of a facade, or of its Service. With several URLs, reads are sent to the facades that are ready, in turns.")
	f.StringVar(&o.FacadeCAFile, "facade-ca-file", o.FacadeCAFile,
		"Path of the `file` with the CA certificates that verify the facades. A changed file applies to new requests. If "+
			"empty, those of the system are used.")
	f.StringVar(&o.RulesFile, "rules", o.RulesFile,
		"Path of the `file` with the reads that kube-apiserver answers although a facade could. If empty, these are the reads of "+
			"Secrets, Leases and metrics.")
	f.IntVar(&o.FallbackReads, "fallback-requests", o.FallbackReads,
		"Maximum `number` of concurrent reads with small answers that kube-apiserver answers while no facade is ready. One source "+
			"address may use half of it. 0 refuses them with 429.")
	f.IntVar(&o.FallbackWatches, "fallback-watches", o.FallbackWatches,
		"Maximum `number` of open watches that kube-apiserver serves because no facade was ready at their start. One source "+
			"address may use a quarter of it. 0 refuses them with 429.")
}

func servingFlags(o *Options, f *pflag.FlagSet) {
	c := &o.Serving
	f.IPVar(&c.BindAddress, "bind-address", c.BindAddress, "`IP` address to listen on.")
	f.IntVar(&c.Port, "secure-port", c.Port, "TCP `port` on which to serve HTTPS. 0 selects a free port.")
	f.StringVar(&c.CertFile, "tls-cert-file", c.CertFile,
		"Path of the `file` with the serving certificate. If empty, --tls-authority-dir is used, or else a self-signed pair in --cert-dir.")
	f.StringVar(&c.KeyFile, "tls-private-key-file", c.KeyFile,
		"Path of the `file` with the private key of --tls-cert-file.")
	f.StringVar(&o.AuthorityDir, "tls-authority-dir", o.AuthorityDir,
		"Path of the `directory` with tls.crt and tls.key of the facades' --shared-authority, which signs the serving certificate.")
	f.StringVar(&c.CertDir, "cert-dir", c.CertDir, "Path of the `directory` for the self-signed certificate and its key.")
	f.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress,
		"`host:port` on which to serve /metrics over HTTP, without authentication. If empty, metrics are not served.")
	f.DurationVar(&c.ShutdownDelay, "shutdown-delay-duration", c.ShutdownDelay,
		"Time to continue serving after SIGTERM. /readyz fails during this time, which lets load balancers remove this server. 0 means no delay.")
	f.DurationVar(&c.WatchTermination, "shutdown-watch-termination-grace-period", c.WatchTermination,
		"Time over which watches are ended after --shutdown-delay-duration. 0 ends all watches immediately.")
	f.DurationVar(&c.ShutdownGrace, "shutdown-grace-period", c.ShutdownGrace,
		"Time for the remaining requests and sessions, such as exec, to finish after the watches have ended. 0 cuts them off immediately.")
	f.StringVar(&c.LogFormat, "log-format", c.LogFormat, "Format of the log: console or json.")
	f.StringVar(&c.LogLevel, "log-level", c.LogLevel, "Lowest level that is logged: debug, info, warn or error.")
}
