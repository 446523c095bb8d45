package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// facade is the wired parts of one process.
type facade struct {
	config  *config
	log     *zap.Logger
	client  *upstream.Client
	catalog *upstream.Catalog
	lanes   *reflector.Lanes
	preload *preload
	server  *http.Server
}

// run serves until the context ends, then drains.
func run(ctx context.Context, c *config) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // stderr may not be syncable
	rest, err := restConfig(c)
	if err != nil {
		return err
	}
	draining, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	f, err := wire(draining, c, rest, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(c.bindAddress.String(), strconv.Itoa(c.port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return f.serve(ctx, listener, drain)
}

func restConfig(c *config) (*rest.Config, error) {
	if c.kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("--kubeconfig is needed outside a cluster")
		}
		return config, err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: c.kubeContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig %s: %w", c.kubeconfig, err)
	}
	return config, nil
}

// wire builds every part and starts none.
func wire(draining context.Context, c *config, config *rest.Config, log *zap.Logger) (*facade, error) {
	client, err := upstream.NewClient(config)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(upstream.ForDiscovery(config))
	if err != nil {
		return nil, fmt.Errorf("prepare discovery: %w", err)
	}
	f := &facade{config: c, log: log, client: client, catalog: upstream.NewCatalog(client, discover)}
	metrics := observe.NewMetrics(func() []observe.LaneStats { return laneStats(f.lanes) })
	f.lanes = reflector.NewLanes(client, reflector.Config{
		Window: c.historyWindow, WindowBytes: c.historyBytes, Idle: c.laneIdle, FieldIndexes: c.fieldIndexes, LabelIndexes: c.labelIndexes,
	}, metrics, log)
	f.preload = &preload{names: c.preload, catalog: f.catalog, lanes: f.lanes, log: log}
	handler := handlers.New(handlers.Config{
		Catalog: f.catalog, Lanes: f.lanes, Documents: upstream.NewDocuments(client), Upstream: upstream.NewPassThrough(client),
		Authorizer: auth.NewSelf(client.Post, c.maxStaleness), Sink: observe.Sinks{metrics, observe.NewRequestLog(log)},
		Metrics: metrics.Handler(), Profiles: profiles(c), Log: log, Checks: f.checks(draining),
		Uncached: groupResources(c.uncached), MaxStaleness: c.maxStaleness, RequestTimeout: c.requestTimeout, MinWatch: c.minWatch,
		BookmarkInterval: c.bookmarkInterval, WriteTimeout: c.writeTimeout, Draining: draining,
	})
	f.server, err = newServer(c, handler, log)
	return f, err
}

func groupResources(names []string) map[schema.GroupResource]bool {
	set := map[schema.GroupResource]bool{}
	for _, name := range names {
		set[schema.ParseGroupResource(name)] = true
	}
	return set
}

// profiles answers below /debug/pprof/; nil when they are not served.
func profiles(c *config) http.Handler {
	if !c.profiling {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// newServer sets the limits of connections (kube-apiserver's, tightened where real clients stay far below them).
func newServer(c *config, handler http.Handler, log *zap.Logger) (*http.Server, error) {
	tlsConfig, err := tlsConfig(c)
	if err != nil {
		return nil, err
	}
	return &http.Server{
		Handler: handler, TLSConfig: tlsConfig, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second,
		MaxHeaderBytes: 128 << 10, ErrorLog: zap.NewStdLog(log.Named("http")),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}, nil
}

// serve runs the parts until the context ends or one fails. Then, in this order: readiness says no, watches end, requests
// finish, lanes stop.
func (f *facade) serve(ctx context.Context, listener net.Listener, drain context.CancelFunc) error {
	lanesCtx, stopLanes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLanes()
	group, ctx := errgroup.WithContext(ctx)
	lanesReady := make(chan struct{})
	group.Go(func() error {
		f.lanes.Run(lanesCtx, func() { close(lanesReady) })
		return nil
	})
	<-lanesReady
	group.Go(func() error { f.preload.run(ctx); return nil })
	group.Go(func() error {
		f.log.Warn("callers are not authenticated: everybody who can reach this address reads with the rights of the kubeconfig's user")
		f.log.Info("serving", zap.String("address", "https://"+listener.Addr().String()), zap.String("upstream", f.client.Host()))
		if err := f.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		f.log.Info("draining")
		drain()
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.config.shutdownGrace)
		defer cancel()
		if err := f.server.Shutdown(shutdown); err != nil {
			f.log.Warn("requests were cut off at the end of the grace period", zap.Error(err))
			_ = f.server.Close()
		}
		stopLanes()
		return nil
	})
	err := group.Wait()
	f.client.CloseIdle() // not before the lanes' watches are closed: they keep a connection busy
	return err
}
