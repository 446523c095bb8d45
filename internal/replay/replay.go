package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// Replay is a journal that was loaded at a moment.
type Replay struct {
	lanes     lanes
	player    *player
	documents *documents
	handler   http.Handler
	recorded  *recorded
	network   *memoryNet
	clients   []*upstream.Client
	stop      context.CancelFunc // ends the reads of the tracks
	drain     context.CancelFunc // ends watches
	log       *zap.Logger
}

const (
	requestTimeout = time.Minute // as in kube-apiserver
	// writeTimeout is longer than in a facade, because there are few clients.
	writeTimeout     = time.Minute
	minWatch         = 30 * time.Minute // as in kube-apiserver
	bookmarkInterval = time.Minute
	precompressed    = 64 << 20 // bytes
)

// assemble makes the handlers of a facade around the lanes.
func (r *Replay) assemble() error {
	client, err := r.newClient(r.network.Addr().String())
	if err != nil {
		return err
	}
	forwarding, err := r.newClient(forwardedHost)
	if err != nil {
		return err
	}
	draining, drain := context.WithCancel(context.Background())
	self := auth.NewSelf(everything{}, 0)
	r.clients, r.drain = []*upstream.Client{client, forwarding}, drain
	r.handler = handlers.New(handlers.Config{
		Catalog: upstream.NewCatalog(client), Lanes: handlers.LanesOf(r.lanes.get), Encodings: facade.Encodings(),
		Offers: r.lanes.offers, Documents: upstream.NewDocuments(client), Fields: upstream.NewFields(client),
		Upstream: upstream.NewPassThrough(forwarding), Precompressed: wire.NewPrecompressed(precompressed),
		Authenticator: self, Authorizer: self, Observer: observe.Observers{oplog.NewRequestLog(r.log)},
		Metrics: http.NotFoundHandler(), Log: r.log, RequestTimeout: requestTimeout, MinWatch: minWatch,
		BookmarkInterval: bookmarkInterval, WriteTimeout: writeTimeout, Draining: draining,
		Shards: upstream.NewShards(client), ShardSelectors: handlers.ServeShards,
	})
	r.recorded = &recorded{documents: r.documents, lanes: r.lanes, reviews: reviewCodecs(), handlers: r.handler}
	return nil
}

func (r *Replay) newClient(host string) (*upstream.Client, error) {
	return upstream.NewClient(&rest.Config{Host: "http://" + host, Dial: r.network.dial}, upstream.Hop{})
}

// Handler returns the handler of all requests. It may be used only while Run runs.
func (r *Replay) Handler() http.Handler { return r.handler }

// Run plays the journal and serves the recorded upstream until the context ends. It must be called only once.
func (r *Replay) Run(ctx context.Context) error {
	server := newServer(r.recorded)
	var group errgroup.Group
	group.Go(func() error { return serveAll(server, r.network) })
	r.player.run(ctx, func(ctx context.Context, now time.Time) {
		if err := r.documents.read(ctx, now); err != nil && ctx.Err() == nil {
			r.log.Warn("Cannot read the documents of the journal", zap.Error(err))
		}
	})
	r.drain()
	err := server.Close()
	for _, client := range r.clients {
		client.CloseIdle()
	}
	return errors.Join(err, group.Wait())
}

// Serve runs the replay and serves a listener until the context ends. It must be called only once.
func (r *Replay) Serve(ctx context.Context, listener net.Listener) error {
	server := newServer(r.handler)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.Run(ctx) })
	group.Go(func() error { return serveAll(server, listener) })
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return group.Wait()
}

// Close releases the files and the lanes. Run must have returned.
func (r *Replay) Close() {
	r.stop()
	r.drain()
	r.player.close()
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
}

func serveAll(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (r *Replay) describe() string {
	return fmt.Sprintf("the cluster as of %s (resourceVersion %d)", r.player.clock.from.Format(time.RFC3339),
		r.player.version)
}
