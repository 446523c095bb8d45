package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

// flagGroup is a section of --help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagsOf returns the flags that set the fields of c. The values in c become the flags' defaults.
func flagsOf(c *facade.Config) []flagGroup {
	set := func(title string, add func(*facade.Config, *pflag.FlagSet)) flagGroup {
		flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
		flags.SortFlags = false
		add(c, flags)
		return flagGroup{title: title, flags: flags}
	}
	return []flagGroup{
		set("Upstream", upstreamFlags), set("Serving", servingFlags),
		set("Authentication", authenticationFlags), set("Authorization", authorizationFlags), set("Limits", limitFlags),
		set("Cache", cacheFlags), set("Observing", observingFlags), set("Audit", auditFlags),
	}
}

func flagSets(groups []flagGroup) (sets []*pflag.FlagSet) {
	for _, group := range groups {
		sets = append(sets, group.flags)
	}
	return sets
}

func configFlags(file *string) flagGroup {
	flags := pflag.NewFlagSet("Configuration", pflag.ContinueOnError)
	flags.StringVar(file, "config", "",
		"Path of the configuration `file` or directory. A file can set each of the other flags, and settings of single resources. In a "+
			"directory, files that end in .yaml are read in the order of their names; later files take precedence. Command-line flags "+
			"take precedence over files.")
	return flagGroup{title: "Configuration", flags: flags}
}

func upstreamFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig,
		"Path of the kubeconfig `file` of the upstream kube-apiserver. If empty, the pod's service account is used.")
	f.StringVar(&c.Context, "context", c.Context,
		"Context of the kubeconfig to use (a `name`). If empty, the kubeconfig's current context is used.")
	f.StringSliceVar(&c.Upstream, "upstream", c.Upstream,
		"HTTPS `URLs` of the kube-apiservers of one cluster. They replace the server of the kubeconfig. One URL is used at a time. "+
			"If it does not respond, the next one is used.")
	f.StringSliceVar(&c.WarmFrom, "warm-from", c.WarmFrom,
		"HTTPS `URLs` of other facades of the same cluster (peers). The first list of a built-in resource is read from a peer if "+
			"possible, with the credentials of the kubeconfig. Changes and later lists are read from kube-apiserver.")
	f.StringVar(&c.WarmFromCAFile, "warm-from-ca-file", c.WarmFromCAFile,
		"Path of the `file` with the CA certificates that verify the peers of --warm-from. If empty, those of the kubeconfig are used.")
}

func servingFlags(c *facade.Config, f *pflag.FlagSet) {
	f.IPVar(&c.BindAddress, "bind-address", c.BindAddress,
		"`IP` address to listen on.")
	f.IntVar(&c.Port, "secure-port", c.Port, "TCP `port` on which to serve HTTPS. 0 selects a free port.")
	f.StringVar(&c.CertFile, "tls-cert-file", c.CertFile,
		"Path of the `file` with the serving certificate. If empty, --shared-authority is used, or else a self-signed certificate in --cert-dir.")
	f.StringVar(&c.KeyFile, "tls-private-key-file", c.KeyFile,
		"Path of the `file` with the private key of --tls-cert-file.")
	f.StringVar(&c.SharedAuthority, "shared-authority", c.SharedAuthority,
		"`NAMESPACE/NAME` of a Secret and of a ConfigMap with the same name. Both must exist. The first replica creates an authority and stores it in the Secret, if the Secret is empty. "+
			"Each replica serves a certificate of this authority, for the Service listfacade of the namespace and for localhost. "+
			"The ConfigMap gets the authority's certificate, for clients. If empty, there is no shared authority.")
	f.StringVar(&c.CertDir, "cert-dir", c.CertDir, "Path of the `directory` for the self-signed certificate and its key.")
	f.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout,
		"Maximum duration of requests, except watches, container logs, profiles and upgraded connections.")
	f.DurationVar(&c.MinWatch, "min-request-timeout", c.MinWatch,
		"Minimum lifetime of watches that set no timeoutSeconds. The lifetime is chosen at random between this value and twice this value; --watch-max-age limits it.")
	f.DurationVar(&c.WriteTimeout, "write-timeout", c.WriteTimeout,
		"Maximum time for one write to a client. After that the response is terminated.")
	shutdownFlags(c, f)
}

func shutdownFlags(c *facade.Config, f *pflag.FlagSet) {
	f.DurationVar(&c.ShutdownDelay, "shutdown-delay-duration", c.ShutdownDelay,
		"Time to continue serving after SIGTERM. /readyz fails during this time, which lets load balancers remove this server. 0 means no delay.")
	f.DurationVar(&c.WatchTermination, "shutdown-watch-termination-grace-period", c.WatchTermination,
		"Time over which watches are ended after --shutdown-delay-duration. A client that accepts bookmarks receives a last bookmark. 0 ends all watches immediately.")
	f.DurationVar(&c.ShutdownGrace, "shutdown-grace-period", c.ShutdownGrace,
		"Time for the remaining requests to finish after the watches have ended. 0 ends these requests immediately.")
	f.BoolVar(&c.SendRetryAfter, "shutdown-send-retry-after", c.SendRetryAfter,
		"Reject new requests with 429 and Retry-After while the server shuts down, instead of closing the port.")
	f.Float64Var(&c.GoawayChance, "goaway-chance", c.GoawayChance,
		"Chance (a `probability` from 0 to 0.02) that an HTTP/2 request makes the server send GOAWAY to the client. The client then opens another "+
			"connection, which spreads clients over replicas. 0 means that the server sends no GOAWAY.")
}

func cacheFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringSliceVar(&c.Preload, "preload", c.Preload,
		"List of `resources` to cache from startup on, for example pods,deployments.apps. /readyz fails until these resources are synced, except resources that exceed their memoryBudget in the file of --config.")
	f.StringSliceVar(&c.PreloadEncodings, "preload-encodings", c.PreloadEncodings,
		"List of `encodings` in which the resources of --preload are cached: json, protobuf or both. Each encoding needs its own watch and memory.")
	f.StringSliceVar(&c.Uncached, "uncached-resources", c.Uncached,
		"List of `resources` that are never cached, for example secrets,deployments.apps. Requests for them are forwarded to kube-apiserver as --passthrough says.")
	f.StringSliceVar(&c.FieldIndexes, "index", c.FieldIndexes,
		"List of `fields` of built-in kinds to index, by the name that field selectors use, for example spec.nodeName.")
	f.StringSliceVar(&c.LabelIndexes, "label-index", c.LabelIndexes, "List of `keys` of labels to index.")
	f.DurationVar(&c.HistoryWindow, "history-window", c.HistoryWindow,
		"Time for which events are kept for watches and lists at older resourceVersions, within --history-bytes. Events that "+
			"kube-apiserver would still keep are always kept.")
	f.Int64Var(&c.HistoryBytes, "history-bytes", c.HistoryBytes,
		"Maximum number of `bytes` that kept events occupy, for each resource and encoding. Events that kube-apiserver would still keep are kept even above this maximum.")
	f.Var(&c.Packing, "pack",
		"`on or off`. If on, the objects of large resources are kept compressed in memory. They take about a tenth of the memory, and reads take slightly longer.")
	f.Var(&c.MemoryBudget, "memory-budget",
		"Maximum `quantity` of memory that the process may use, for example 2Gi. Near the limit, the facade drops precompressed pages, then history, then "+
			"the least used resources. Then it refuses large lists and watches. auto is GOMEMLIMIT if set, else 90% of the cgroup's "+
			"limit, or less if the cgroup's limit is below 480Mi. Without GOMEMLIMIT and a cgroup limit, auto means no limit. 0 means no limit.")
	f.Int64Var(&c.PrecompressedMemory, "precompressed-memory", c.PrecompressedMemory,
		"Maximum number of `bytes` of precompressed pages of lists, for all resources together. 0 compresses the pages for each response.")
	f.DurationVar(&c.LaneIdle, "idle-timeout", c.LaneIdle,
		"Time after which the facade drops the cache of a resource in an encoding that no client reads, unless --preload names the resource. 0 means never.")
	f.DurationVar(&c.MaxStaleness, "max-staleness", c.MaxStaleness,
		"Time for which the facade still answers reads that accept stale data when kube-apiserver sends nothing. After that time, it forwards "+
			"gets and small lists, and rejects other reads with 503. 0 means no limit.")
	f.BoolVar(&c.ReplayLostWindows, "replay-lost-windows", c.ReplayLostWindows,
		"Keep client watches open when kube-apiserver has lost the events that the facade needs next, for example after kube-apiserver restarted. "+
			"The facade then lists the resource again and sends the differences as events. If false, watches end with 410 as kube-apiserver's do, "+
			"and clients list again.")
	f.BoolVar(&c.AccountWatches, "account-watches", c.AccountWatches,
		"After a costly consistent read, watch for ten minutes the metadata of built-in resources that no client reads, except --uncached-resources. "+
			"With their resourceVersions, a small request can confirm that a large cached resource is unchanged. If false, costly reads are forwarded to "+
			"kube-apiserver, or wait one to two seconds, whenever other resources change.")
	journalFlags(c, f)
	f.StringVar(&c.ShardSelectors, "shard-selectors", c.ShardSelectors,
		"When lists and watches with a shardSelector (KEP-5866) are served from the cache: auto (while kube-apiserver has the feature gate "+
			"ShardedListAndWatch), always (with any release of kube-apiserver) or never. A request that is not served "+
			"from the cache is forwarded. Without the feature gate, kube-apiserver ignores the shardSelector.")
	f.DurationVar(&c.SelfAuditInterval, "self-audit-interval", c.SelfAuditInterval,
		"Time within which every cached resource, in each of its encodings, is compared with kube-apiserver once, page by page. Differences are logged and counted, "+
			"and the resource is listed again. 0 disables the comparison.")
	f.DurationVar(&c.BookmarkInterval, "bookmark-interval", c.BookmarkInterval, "Time between the bookmarks of a watch.")
}

func journalFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringVar(&c.JournalDir, "journal-dir", c.JournalDir,
		"Path of the `directory` for the journal: the cached resources and each of their changes. A restarted process continues from the "+
			"journal, also after a crash, and usually needs no new lists. Only one process may write to it. Objects are not encrypted. Secrets and "+
			"Events are not written. If empty, there is no journal.")
	f.DurationVar(&c.JournalMaxAge, "journal-max-age", c.JournalMaxAge,
		"Time for which the journal is kept. 0 means no limit.")
	f.Var(&c.JournalMaxBytes, "journal-max-bytes",
		"Maximum `quantity` of disk space for the journal, for example 10Gi. The oldest files are removed first. The newest files of each resource and encoding are kept even above this limit. 0 means no limit.")
}

func observingFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringVar(&c.LogFormat, "log-format", c.LogFormat, "Format of the log: console or json.")
	f.StringVar(&c.LogLevel, "log-level", c.LogLevel, "Lowest level that is logged: debug, info, warn or error.")
	f.BoolVar(&c.SLIMetrics, "expose-sli-metrics", c.SLIMetrics,
		"Add the histogram apiserver_request_sli_duration_seconds to /metrics. Recording rules that compute the cluster's "+
			"availability from it then include the facade's requests.")
	f.DurationVar(&c.Slow.Request, "slow-request-threshold", c.Slow.Request,
		"Duration above which a request is logged, with its caller and the time per step. 0 logs none.")
	f.DurationVar(&c.Slow.WatchLag, "slow-watch-lag", c.Slow.WatchLag,
		"Maximum time that a watch may lag behind. A watch that lags longer is logged, and logged again after each further period of this "+
			"length. 0 logs none.")
	f.StringVar(&c.DebugSocket, "debug-socket-path", c.DebugSocket,
		"Unix socket (a `path`) that serves /metrics, /debug/pprof, the log level, the tables of callers and requests, and the "+
			"operator's page (/debug/status). The socket needs no authentication, and only the user of the process can connect. If empty, no "+
			"socket is opened.")
	f.BoolVar(&c.Profiling, "profiling", c.Profiling,
		"Serve /debug/pprof to callers that are authorized to get that path.")
}

// usage prints the flags by group.
func usage(w io.Writer, groups []flagGroup) error {
	if _, err := fmt.Fprintln(w, "Usage:\n  listfacade --kubeconfig FILE [flags]\n  listfacade check --kubeconfig FILE [flags]\n  "+
		"listfacade split --kube-apiserver URL --facade URL [flags]\n"+
		"  listfacade replay --journal-dir DIR --at MOMENT [flags]\n"+
		"  listfacade diff --journal-dir DIR --from MOMENT [--to MOMENT] [resource]\n"+
		"  listfacade log --journal-dir DIR resource/name\n  listfacade top [flags]\n"+
		"  listfacade verify [--against FILE] [resource ...]\n  listfacade assess [audit log ...]\n  "+
		"listfacade completion bash|zsh|fish\n  listfacade version [-o json]"); err != nil {
		return err
	}
	for _, group := range groups {
		if _, err := fmt.Fprintf(w, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(120)); err != nil {
			return err
		}
	}
	return nil
}
