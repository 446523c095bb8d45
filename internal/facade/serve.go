package facade

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/frames"
)

// Serve starts the parts and serves the listener until the context ends or a part fails. Then it stops the parts and
// closes the listener. It returns the error of the failed part, or nil. Call it only once.
func (f *Facade) Serve(ctx context.Context, listener net.Listener) error {
	defer f.shutdown.end()
	requested := ctx
	socket, err := f.listenDebug()
	if err != nil {
		_ = listener.Close()
		return err
	}
	lanesCtx, stopLanes := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLanes()
	group, ctx := errgroup.WithContext(ctx)
	lanesReady := make(chan struct{})
	group.Go(func() error {
		f.lanes.Run(lanesCtx, func() { close(lanesReady) })
		return nil
	})
	if f.endpoints != nil {
		group.Go(func() error { f.endpoints.Run(lanesCtx); return nil })
	}
	<-lanesReady
	group.Go(func() error { f.catalog.Follow(lanesCtx, f.lanes.Exclude, f.logFollowFailures()); return nil })
	group.Go(func() error { f.memory.Run(lanesCtx); return nil })
	group.Go(func() error { f.clients.Run(lanesCtx); return nil })
	group.Go(func() error { f.preload.run(ctx); return nil })
	group.Go(func() error { f.access.run(lanesCtx); return nil })
	group.Go(func() error { f.pair.Run(ctx); return nil })
	group.Go(func() error { return f.answer(listener) })
	group.Go(func() error { return socket.run(lanesCtx) })
	if f.audit != nil {
		group.Go(func() error { f.audit.Run(lanesCtx); return nil })
	}
	documentsWritten := f.writeDocuments(ctx)
	group.Go(func() error {
		<-ctx.Done()
		f.finish(ctx, requested.Err() != nil)
		documentsWritten()
		stopLanes()
		return nil
	})
	err = group.Wait()
	f.CloseIdle() // after the lanes have ended, because their watches keep connections busy
	return err
}

// logFollowFailures returns a function that logs the first of consecutive failures to watch APIServices.
func (f *Facade) logFollowFailures() func(error) {
	fails := false
	return func(err error) {
		if err != nil && !fails {
			f.log.Warn("Cannot watch APIServices; changes of aggregated APIs are noticed late", zap.Error(err))
		}
		fails = err != nil
	}
}

func (f *Facade) answer(listener net.Listener) error {
	if f.config.Authentication.AnonymousActsAsKubeconfig {
		f.log.Warn("Callers are not authenticated: every client that can reach this address reads with the kubeconfig user's permissions")
	}
	f.log.Info("Serving", zap.String("address", "https://"+listener.Addr().String()),
		zap.String("upstream", f.client.Host()))
	if err := f.server.ServeTLS(frames.Listener(listener), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// CloseIdle closes idle connections to the upstream and to peers.
func (f *Facade) CloseIdle() {
	f.client.CloseIdle()
	for _, peer := range f.peers {
		peer.CloseIdle()
	}
	f.access.closeIdle()
}
