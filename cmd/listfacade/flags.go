package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

// flagGroup is a theme of --help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagsOf are the flags that change a Config, whose values are their defaults.
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

// flagSets are those of groups.
func flagSets(groups []flagGroup) (sets []*pflag.FlagSet) {
	for _, group := range groups {
		sets = append(sets, group.flags)
	}
	return sets
}

func configFlags(file *string) flagGroup {
	flags := pflag.NewFlagSet("Configuration", pflag.ContinueOnError)
	flags.StringVar(file, "config", "",
		"`file` or directory of settings: a key for each of the other flags, and settings of single resources. Of a directory, files "+
			"that end in .yaml are read in the order of their names, and later ones take precedence. Command-line flags take precedence "+
			"over files")
	return flagGroup{title: "Configuration", flags: flags}
}

func upstreamFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig,
		"kubeconfig `file` of the kube-apiserver to read; in a cluster, the service account is used when empty")
	f.StringVar(&c.Context, "context", c.Context, "`name` of the kubeconfig's context to use")
	f.StringSliceVar(&c.Upstream, "upstream", c.Upstream,
		"`URLs` of the kube-apiservers of one cluster, instead of the kubeconfig's server: the first is asked, and the next when it "+
			"does not answer")
	f.StringSliceVar(&c.WarmFrom, "warm-from", c.WarmFrom,
		"`URLs` of other listfacades of the same cluster: what they have cached is read from them at the start, with the "+
			"kubeconfig's credentials, and from kube-apiserver only what changed since")
	f.StringVar(&c.WarmFromCAFile, "warm-from-ca-file", c.WarmFromCAFile,
		"`file` of the authorities that vouch for --warm-from; those of the kubeconfig when empty")
}

func servingFlags(c *facade.Config, f *pflag.FlagSet) {
	f.IPVar(&c.BindAddress, "bind-address", c.BindAddress,
		"`IP` address to listen on")
	f.IntVar(&c.Port, "secure-port", c.Port, "`port` to serve HTTPS on; 0 takes a free one")
	f.StringVar(&c.CertFile, "tls-cert-file", c.CertFile,
		"`file` with the serving certificate; a self-signed pair is made in --cert-dir when empty")
	f.StringVar(&c.KeyFile, "tls-private-key-file", c.KeyFile, "`file` with the serving certificate's key")
	f.StringVar(&c.CertDir, "cert-dir", c.CertDir, "`directory` for the self-signed pair")
	f.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout,
		"how long a request may take that is not a watch")
	f.DurationVar(&c.MinWatch, "min-request-timeout", c.MinWatch,
		"shortest life of a watch without timeoutSeconds; the longest is twice that")
	f.DurationVar(&c.WriteTimeout, "write-timeout", c.WriteTimeout,
		"how long a client may take to accept one piece of an answer")
	shutdownFlags(c, f)
}

func shutdownFlags(c *facade.Config, f *pflag.FlagSet) {
	f.DurationVar(&c.ShutdownDelay, "shutdown-delay-duration", c.ShutdownDelay,
		"how long to serve on after SIGTERM, when /readyz says no already, so that a load balancer can tell; 0 does not wait")
	f.DurationVar(&c.WatchTermination, "shutdown-watch-termination-grace-period", c.WatchTermination,
		"over what time watches end after that, each with a last bookmark; 0 ends all of them at once")
	f.DurationVar(&c.ShutdownGrace, "shutdown-grace-period", c.ShutdownGrace,
		"how long requests may go on after that")
	f.DurationVar(&c.SnapshotPeriod, "shutdown-snapshot-period", c.SnapshotPeriod,
		"how long writing to --snapshot-dir may take after that, small resources first; what is not written by then is left out; 0 is as "+
			"long as it takes")
	f.BoolVar(&c.SendRetryAfter, "shutdown-send-retry-after", c.SendRetryAfter,
		"answer new requests with 429 and Retry-After meanwhile, instead of closing the port")
	f.Float64Var(&c.GoawayChance, "goaway-chance", c.GoawayChance,
		"`probability` of asking an HTTP/2 client to come back on another connection, by which clients spread over replicas; "+
			"0 to 0.02")
}

func cacheFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringSliceVar(&c.Preload, "preload", c.Preload,
		"`resources` to cache from the start, as in pods,deployments.apps; ready means that they are synced")
	f.StringSliceVar(&c.PreloadEncodings, "preload-encodings", c.PreloadEncodings,
		"`encodings` that --preload caches them in: json, protobuf or both, each with a watch and memory of its own")
	f.StringSliceVar(&c.Uncached, "uncached-resources", c.Uncached,
		"`resources` that are never cached but passed through, as in secrets,deployments.apps")
	f.StringSliceVar(&c.FieldIndexes, "index", c.FieldIndexes,
		"`fields` of built-in kinds to index, by their field selector's name")
	f.StringSliceVar(&c.LabelIndexes, "label-index", c.LabelIndexes, "`keys` of labels to index")
	f.DurationVar(&c.HistoryWindow, "history-window", c.HistoryWindow,
		"how long events are kept for watches and lists at older versions; never less than kube-apiserver keeps them")
	f.Int64Var(&c.HistoryBytes, "history-bytes", c.HistoryBytes,
		"`bytes` that events may keep alive, for each resource; those of the last 75 seconds may take more")
	f.Var(&c.Packing, "pack",
		"`on or off`: keep objects of large resources compressed, a tenth of the memory for a little time at each read")
	f.Var(&c.MemoryBudget, "memory-budget",
		"`quantity` of memory that the process may take, as in 2Gi; near it lists are no longer kept compressed, then history is cut, "+
			"then the resource goes that was read least recently, then large lists are refused; auto is GOMEMLIMIT, else nine tenths "+
			"of the cgroup's limit and all but 32Mi of it at most; 0 is any amount")
	f.Int64Var(&c.PrecompressedMemory, "precompressed-memory", c.PrecompressedMemory,
		"`bytes` that compressed parts of lists may take, of all resources together; 0 compresses each list anew")
	f.DurationVar(&c.LaneIdle, "idle-timeout", c.LaneIdle,
		"a resource that nobody read for so long is dropped; 0 keeps everything")
	f.DurationVar(&c.MaxStaleness, "max-staleness", c.MaxStaleness,
		"how long the cache is served after the upstream was last heard; 0 means without end")
	f.BoolVar(&c.ReplayLostWindows, "replay-lost-windows", c.ReplayLostWindows,
		"when kube-apiserver has lost what followed, as after its restart, tell watches what has changed by its next list; without "+
			"it they end with 410, as kube-apiserver's do, and their clients list again")
	f.BoolVar(&c.AccountWatches, "account-watches", c.AccountWatches,
		"while consistent reads need it, watch the metadata of built-in resources that nobody reads here, and keep only which version "+
			"was whose: then one cheap question proves that a large resource has not changed; without it such reads are passed on "+
			"while others write")
	f.StringVar(&c.SnapshotDir, "snapshot-dir", c.SnapshotDir,
		"`directory` of this process alone, where it leaves at its end what it has cached, in plain, so that after a restart clients go on "+
			"where they were instead of listing everything; nowhere when empty")
	f.DurationVar(&c.SelfAuditInterval, "self-audit-interval", c.SelfAuditInterval,
		"in what time all that is cached is compared with kube-apiserver once, page by page; what differs is logged, counted and read anew; "+
			"0 turns it off")
	f.DurationVar(&c.BookmarkInterval, "bookmark-interval", c.BookmarkInterval, "time between a watch's bookmarks")
}

func observingFlags(c *facade.Config, f *pflag.FlagSet) {
	f.StringVar(&c.LogFormat, "log-format", c.LogFormat, "console or json")
	f.StringVar(&c.LogLevel, "log-level", c.LogLevel, "debug, info, warn or error")
	f.BoolVar(&c.SLIMetrics, "expose-sli-metrics", c.SLIMetrics,
		"add apiserver_request_sli_duration_seconds to /metrics; rules that compute the cluster's availability from it count the "+
			"facade's requests in")
	f.DurationVar(&c.Slow.Request, "slow-request-threshold", c.Slow.Request,
		"a request that takes longer has a line in the log, with who asked for what and what it waited for; 0 writes none")
	f.DurationVar(&c.Slow.WatchLag, "slow-watch-lag", c.Slow.WatchLag,
		"a watch that is behind for longer has a line in the log, while it is; 0 writes none")
	f.StringVar(&c.DebugSocket, "debug-socket-path", c.DebugSocket,
		"unix socket at which profiles, the log's level, metrics, who asks for what and the operator's page (/debug/status) are "+
			"served, without authentication, to the user whose the process is; "+
			"a `path`, none when empty")
	f.BoolVar(&c.Profiling, "profiling", c.Profiling, "serve /debug/pprof to whoever may get that path")
}

// usage prints the flags by theme.
func usage(w io.Writer, groups []flagGroup) error {
	if _, err := fmt.Fprintln(w, "Usage:\n  listfacade --kubeconfig FILE [flags]\n  listfacade check --kubeconfig FILE [flags]\n  listfacade top [flags]\n"+
		"  listfacade version"); err != nil {
		return err
	}
	for _, group := range groups {
		if _, err := fmt.Fprintf(w, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(120)); err != nil {
			return err
		}
	}
	return nil
}
