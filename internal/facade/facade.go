package facade

import (
	"context"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/handlers"
	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/audit"
	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// Facade contains the connected parts of one process.
type Facade struct {
	config        Config
	started       time.Time
	log           *zap.Logger
	client        *upstream.Client
	hop           upstream.Hop
	endpoints     *upstream.Endpoints // nil if the upstream has one address
	peers         []*upstream.Client
	catalog       *upstream.Catalog
	precompressed *wire.Precompressed
	memory        *budget.Budget
	lanes         *reflector.Lanes
	documents     *journalDocuments // nil without a journal
	metrics       *metrics.Metrics
	inflight      *observe.Inflight
	clients       *accounting.Clients
	history       *oplog.History
	slow          *oplog.SlowLog
	page          *page.Page
	preload       *preload
	access        *access
	audit         *audit.Log // nil if disabled
	pair          *ServingPair
	server        *http.Server
	shutdown      *shutdown
}

// New creates and connects the parts, but starts no part. It uses the context's values and ignores its cancellation.
// The Config must be valid.
func New(ctx context.Context, c Config, config *rest.Config, log *zap.Logger) (*Facade, error) {
	hop, f := upstream.NewHop(), &Facade{config: c, started: time.Now(), log: log, history: oplog.NewHistory(),
		slow: oplog.NewSlowLog(log, c.Slow)}
	f.metrics = f.newMetrics(config)
	f.page = page.New(f.status(config))
	var err error
	if f.peers, err = newPeers(c, config, hop); err != nil {
		return nil, err
	}
	if f.endpoints, config, err = newEndpoints(c, config, hop, log); err != nil {
		return nil, err
	}
	client, err := upstream.NewClient(f.recorded(config), hop, f.metrics, f.history, oplog.NewUpstreamLog(log))
	if err != nil {
		return nil, err
	}
	f.hop, f.client, f.catalog = hop, client, upstream.NewCatalog(client)
	f.precompressed = wire.NewPrecompressed(c.PrecompressedMemory)
	f.shutdown = newShutdown(ctx)
	f.memory = newMemory(f, c)
	f.inflight = new(observe.Inflight)
	f.clients = accounting.NewClients(f.inflight)
	f.lanes = reflector.NewLanes(client, reflector.Config{
		Window: c.HistoryWindow, WindowBytes: c.HistoryBytes, Packing: cache.Packing(c.Packing), Idle: c.LaneIdle,
		FieldIndexes: c.FieldIndexes, LabelIndexes: c.LabelIndexes,
		PagedFrom: c.PagedFrom, Memory: f.memory, PageBytes: f.memory.Share(pageShare, mostPage), Peers: f.peers,
		PeerWait: c.PeerWait, Resources: c.laneResources(),
		ReplayLostWindows: c.ReplayLostWindows, AccountFor: f.accountFor(),
		SelfAudit: c.SelfAuditInterval, SelfAuditShare: c.SelfAuditShare,
		Journal: reflector.Journal{Dir: c.JournalDir, MaxAge: c.JournalMaxAge, MaxBytes: int64(c.JournalMaxBytes)},
	}, laneMetrics{f.metrics, f.history}, log)
	f.preload = &preload{wanted: c.wanted(), catalog: f.catalog, lanes: f.lanes, log: log}
	if f.access, err = newAccess(c, surroundings{
		config: config, client: client, hop: hop, objects: newBoundObjects(f.lanes), metrics: f.metrics, history: f.history,
		log: log,
	}); err != nil {
		return nil, err
	}
	if c.Audit.Enabled() {
		if f.audit, err = audit.New(c.Audit, auditMetrics{f.metrics, f.history}, log); err != nil {
			return nil, err
		}
	}
	if f.pair, err = NewServingPair(c, log); err != nil {
		return nil, err
	}
	f.server, err = NewServer(TLSConfig(f.pair, f.access.hints), f.newHandler(), log)
	return f, err
}

// accountFor returns a function that lists the resources for account watches: the built-in resources that may be
// cached. It returns nil if account watches are disabled.
func (f *Facade) accountFor() func() []upstream.Resource {
	if !f.config.AccountWatches {
		return nil
	}
	uncached := f.config.uncached()
	return func() []upstream.Resource {
		return slices.DeleteFunc(f.catalog.BuiltIns(),
			func(r upstream.Resource) bool { return uncached[r.GVR.GroupResource()] })
	}
}

func (f *Facade) newHandler() http.Handler {
	c := f.config
	return f.shutdown.count(handlers.New(handlers.Config{
		Catalog: f.catalog, Lanes: handlers.LanesOf(f.lanes.Get), Encodings: encodings(), Offers: reflector.Offers,
		Documents: upstream.NewDocuments(f.client), Fields: upstream.NewFields(f.client),
		Shards: upstream.NewShards(f.client), ShardSelectors: shardSelectors[c.ShardSelectors],
		Upstream: upstream.NewPassThrough(f.client), Hop: f.hop, Precompressed: f.precompressed, Memory: f.memory,
		Authenticator: f.access.authenticator, Authorizer: f.access.authorizer, SelfReviewer: f.access.selfReviewer,
		Limits: f.limits(), PassAs: passAs[c.Authorization.PassThrough], WatchMaxAge: c.Authorization.WatchMaxAge,
		Observer: f.observers(),
		Inflight: f.inflight, Clients: f.clients, Page: f.page, ZPages: f.zpages(),
		Metrics: f.metrics.Handler(), SLIs: f.metrics.SLIs(), Counters: f.metrics, Profiles: profiles(c), Level: c.Level,
		Log: f.log, Checks: f.checks(),
		Uncached: c.uncached(), MaxStaleness: c.MaxStaleness, RequestTimeout: c.RequestTimeout, MinWatch: c.MinWatch,
		BookmarkInterval: c.BookmarkInterval, WriteTimeout: c.WriteTimeout, SlowWatchLag: c.Slow.WatchLag,
		Draining: f.shutdown.draining, WatchTermination: c.WatchTermination, Leaving: f.shutdown.leaving,
		GoawayChance: c.GoawayChance,
	}))
}

// observers returns the observers of each request. The list of requests in flight is last, because a request that waits
// for the audit log is still in flight.
func (f *Facade) observers() observe.Observers {
	observers := observe.Observers{f.metrics, f.clients, f.history, oplog.NewRequestLog(f.log), f.slow}
	if f.audit != nil {
		observers = append(observers, f.audit)
	}
	return append(observers, f.inflight)
}

func (f *Facade) limits() handlers.Limits {
	if f.config.Authentication.AnonymousActsAsKubeconfig {
		return handlers.Limits{} // no limits: there is one caller
	}
	return f.config.Limits
}

var passAs = map[string]handlers.PassThroughAs{
	"token": handlers.PassAsToken, "impersonate": handlers.PassAsImpersonation, "off": handlers.PassNothing,
}

var shardSelectors = map[string]handlers.ShardSelectors{
	"auto": handlers.ShardsAsUpstream, "always": handlers.ServeShards, "never": handlers.ForwardShards,
}

func groupResources(names []string) map[schema.GroupResource]bool {
	set := map[schema.GroupResource]bool{}
	for _, name := range names {
		set[schema.ParseGroupResource(name)] = true
	}
	return set
}

// Handler returns the handler of all requests. It may be used only while Serve runs.
func (f *Facade) Handler() http.Handler { return f.server.Handler }

// Wrap replaces the handler of all requests by around(handler). It must be called before Serve.
func (f *Facade) Wrap(around func(http.Handler) http.Handler) {
	f.server.Handler = around(f.server.Handler)
}

// Abort closes the listener and all connections, as at the end of a process. Serve still returns only when its context
// ends.
func (f *Facade) Abort() error { return f.server.Close() }
