package split

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/frames"
)

// Run runs the process: it logs to stderr, reads the files that the options name, listens, and serves until the context
// ends.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	log, level, err := facade.NewLogger(o.Serving)
	if err != nil {
		return err
	}
	defer level.Stop()
	facade.LogLibraries(log)
	defer func() { _ = log.Sync() }() // stderr may not support Sync
	if o.AuthorityDir != "" {
		if o.Serving.Authority, err = facade.ReadAuthority(ctx, o.AuthorityDir, log); err != nil {
			return fmt.Errorf("--tls-authority-dir: %w", err)
		}
	}
	s, err := New(o, log)
	if err != nil {
		return err
	}
	listener, err := facade.Listen(o.Serving)
	if err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// Serve serves the listener, and the metrics, until the context ends or a part fails. Then it shuts the server down and
// closes the listener. It returns the error of the failed part, or nil. It must be called only once.
func (s *Split) Serve(ctx context.Context, listener net.Listener) error {
	defer s.shutdown.end()
	scraped, err := s.listenMetrics()
	if err != nil {
		_ = listener.Close()
		return err
	}
	requested := ctx
	healthCtx, stopChecks := context.WithCancel(context.WithoutCancel(ctx))
	defer stopChecks()
	group, ctx := errgroup.WithContext(ctx)
	for _, target := range s.servers() {
		group.Go(func() error { target.watchHealth(healthCtx); return nil })
		group.Go(func() error { target.authorities.run(healthCtx); return nil })
	}
	group.Go(func() error { s.pair.Run(healthCtx); return nil })
	group.Go(func() error { return s.serveMetrics(healthCtx, scraped) })
	group.Go(func() error {
		s.log.Info("Serving", zap.String("address", "https://"+listener.Addr().String()),
			zap.String("kubeAPIServer", s.apiServer.base.Host), zap.Strings("facades", s.options.Facades))
		if err := s.server.ServeTLS(frames.Listener(listener), "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.finish(requested.Err() != nil)
		stopChecks()
		return nil
	})
	err = group.Wait()
	for _, target := range s.servers() {
		target.closeIdle()
	}
	return err
}

func (s *Split) listenMetrics() (net.Listener, error) {
	if s.options.MetricsAddress == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", s.options.MetricsAddress)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address: %w", err)
	}
	return listener, nil
}

// serveMetrics serves /metrics without TLS and authentication until the context ends. The proxy cannot authenticate
// callers, because it has no credentials for a TokenReview.
func (s *Split) serveMetrics(ctx context.Context, listener net.Listener) error {
	if listener == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, ErrorLog: s.server.ErrorLog,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
