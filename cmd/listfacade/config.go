package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/pflag"
)

// config is every knob of the process. Names follow kube-apiserver's.
type config struct {
	kubeconfig, kubeContext string
	uncached, preload       []string

	bindAddress              net.IP
	port                     int
	certFile, keyFile        string
	certDir                  string
	requestTimeout, minWatch time.Duration
	writeTimeout             time.Duration
	shutdownGrace            time.Duration

	fieldIndexes, labelIndexes []string

	historyWindow    time.Duration
	historyBytes     int64
	laneIdle         time.Duration
	maxStaleness     time.Duration
	bookmarkInterval time.Duration

	logFormat, logLevel string
	profiling           bool
}

func defaults() *config {
	return &config{
		bindAddress: net.IPv4(127, 0, 0, 1), port: 6443, certDir: "listfacade-certs",
		uncached:       []string{"secrets"},
		fieldIndexes:   []string{"spec.nodeName"}, // agents on every node read what is theirs; kube-apiserver has the same index
		requestTimeout: time.Minute, minWatch: 30 * time.Minute, writeTimeout: 20 * time.Second, shutdownGrace: 30 * time.Second,
		historyWindow: 10 * time.Minute, historyBytes: 256 << 20, laneIdle: 30 * time.Minute, maxStaleness: time.Minute,
		bookmarkInterval: time.Minute, logFormat: "console", logLevel: "info",
	}
}

// flagGroup is a theme of --help.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

func (c *config) flags() []flagGroup {
	set := func(title string, add func(*pflag.FlagSet)) flagGroup {
		flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
		flags.SortFlags = false
		add(flags)
		return flagGroup{title: title, flags: flags}
	}
	return []flagGroup{
		set("Upstream", c.upstreamFlags), set("Serving", c.servingFlags), set("Cache", c.cacheFlags), set("Observing", c.observingFlags),
	}
}

func (c *config) upstreamFlags(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", c.kubeconfig, "kubeconfig `file` of the kube-apiserver to read; in a cluster, the service account is used when empty")
	f.StringVar(&c.kubeContext, "context", c.kubeContext, "`name` of the kubeconfig's context to use")
}

func (c *config) servingFlags(f *pflag.FlagSet) {
	f.IPVar(&c.bindAddress, "bind-address", c.bindAddress, "`IP` address to listen on; only loopback, while callers are not authenticated")
	f.IntVar(&c.port, "secure-port", c.port, "`port` to serve HTTPS on; 0 takes a free one")
	f.StringVar(&c.certFile, "tls-cert-file", c.certFile, "`file` with the serving certificate; a self-signed pair is made in --cert-dir when empty")
	f.StringVar(&c.keyFile, "tls-private-key-file", c.keyFile, "`file` with the serving certificate's key")
	f.StringVar(&c.certDir, "cert-dir", c.certDir, "`directory` for the self-signed pair")
	f.DurationVar(&c.requestTimeout, "request-timeout", c.requestTimeout, "how long a request may take that is not a watch")
	f.DurationVar(&c.minWatch, "min-request-timeout", c.minWatch, "shortest life of a watch without timeoutSeconds; the longest is twice that")
	f.DurationVar(&c.writeTimeout, "write-timeout", c.writeTimeout, "how long a client may take to accept one piece of an answer")
	f.DurationVar(&c.shutdownGrace, "shutdown-grace-period", c.shutdownGrace, "how long requests may go on after SIGTERM")
}

func (c *config) cacheFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&c.preload, "preload", c.preload, "`resources` to cache from the start, as in pods,deployments.apps; ready means that they are synced")
	f.StringSliceVar(&c.uncached, "uncached-resources", c.uncached, "`resources` that are never cached but passed through, as in secrets,deployments.apps")
	f.StringSliceVar(&c.fieldIndexes, "index", c.fieldIndexes, "`fields` of built-in kinds to index, by their field selector's name")
	f.StringSliceVar(&c.labelIndexes, "label-index", c.labelIndexes, "`keys` of labels to index")
	f.DurationVar(&c.historyWindow, "history-window", c.historyWindow, "how long events are kept for watches and lists at older versions")
	f.Int64Var(&c.historyBytes, "history-bytes", c.historyBytes, "`bytes` that events may keep alive, for each resource")
	f.DurationVar(&c.laneIdle, "idle-timeout", c.laneIdle, "a resource that nobody read for so long is dropped; 0 keeps everything")
	f.DurationVar(&c.maxStaleness, "max-staleness", c.maxStaleness, "how long the cache is served after the upstream was last heard; 0 means without end")
	f.DurationVar(&c.bookmarkInterval, "bookmark-interval", c.bookmarkInterval, "time between a watch's bookmarks")
}

func (c *config) observingFlags(f *pflag.FlagSet) {
	f.StringVar(&c.logFormat, "log-format", c.logFormat, "console or json")
	f.StringVar(&c.logLevel, "log-level", c.logLevel, "debug, info, warn or error")
	f.BoolVar(&c.profiling, "profiling", c.profiling, "serve /debug/pprof to whoever may connect")
}

// validate refuses what cannot be meant, by the flag's name.
func (c *config) validate() error {
	switch {
	case !c.bindAddress.IsLoopback():
		return fmt.Errorf("--bind-address %s: callers are not authenticated yet and act with the rights of the kubeconfig's user, so only a loopback address can be served", c.bindAddress)
	case c.port < 0 || c.port > 65535:
		return fmt.Errorf("--secure-port %d is not a port", c.port)
	case (c.certFile == "") != (c.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file go together")
	case c.logFormat != "console" && c.logFormat != "json":
		return fmt.Errorf("--log-format %q: console or json", c.logFormat)
	}
	for name, d := range map[string]time.Duration{
		"request-timeout": c.requestTimeout, "min-request-timeout": c.minWatch, "write-timeout": c.writeTimeout,
		"history-window": c.historyWindow, "bookmark-interval": c.bookmarkInterval,
	} {
		if d <= 0 {
			return fmt.Errorf("--%s %s must be above 0", name, d)
		}
	}
	if c.historyBytes <= 0 {
		return fmt.Errorf("--history-bytes %d must be above 0", c.historyBytes)
	}
	return nil
}

// usage prints the flags by theme.
func usage(w io.Writer, groups []flagGroup) error {
	if _, err := fmt.Fprintln(w, "Usage:\n  listfacade --kubeconfig FILE [flags]\n  listfacade version"); err != nil {
		return err
	}
	for _, group := range groups {
		if _, err := fmt.Fprintf(w, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(120)); err != nil {
			return err
		}
	}
	return nil
}
