package handlers

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/zpages"
)

// Config is the configuration of a Server. A pointer or interface may be nil only if its comment says so.
type Config struct {
	Catalog *upstream.Catalog
	Lanes   Lanes
	// Encodings are the encodings of lanes. The first one must be JSON, because JSON covers every kind, and YAML is
	// converted from JSON. Offers reports whether a resource can have a lane in one of the other encodings.
	Encodings     []wire.Encoding
	Offers        func(upstream.Resource, wire.Encoding) bool
	Documents     *upstream.Documents
	Fields        *upstream.Fields
	Shards        *upstream.Shards
	Upstream      *upstream.PassThrough
	Hop           upstream.Hop // identifies this facade in forwarded requests
	Authenticator Authenticator
	Authorizer    Authorizer
	// SelfReviewer answers reviews of callers about themselves; nil if every caller acts as the kubeconfig's user.
	SelfReviewer  SelfReviewer
	Precompressed *wire.Precompressed // cache of precompressed pages
	Observer      observe.Observer
	// Inflight lists the requests in flight. Observer must notify it, too. If it is nil, /debug/requests and
	// /debug/watches are forwarded. Clients serves /debug/clients; nil forwards this path.
	Inflight *observe.Inflight
	Clients  *accounting.Clients
	// Page serves /debug/status and the paths below it; nil forwards these paths. New gives it the limits.
	Page     *page.Page
	ZPages   []*zpages.Page // serve /statusz and /flagz; requests for a missing page are forwarded
	Metrics  http.Handler   // serves /metrics
	SLIs     http.Handler   // serves /metrics/slis; nil forwards the path
	Counters Counters       // may be nil
	Profiles http.Handler   // serves paths below /debug/pprof/; nil forwards them
	Level    *oplog.Level   // log level that authorized callers may change; nil forwards its paths
	Log      *zap.Logger
	Checks   []Check

	// Uncached are resources that are always forwarded.
	Uncached map[schema.GroupResource]bool
	// PassAs selects the credentials of requests that the cache cannot serve.
	PassAs PassThroughAs
	// ShardSelectors says which lists and watches with a shardSelector the cache serves.
	ShardSelectors ShardSelectors
	// MaxStaleness is how long the cache is served after the last response of the upstream; 0 means unlimited.
	MaxStaleness time.Duration
	// RequestTimeout is the maximum duration of requests, except for watches, logs, connections and profiles.
	RequestTimeout time.Duration
	// MinWatch is the minimum lifetime of a watch without timeoutSeconds. The maximum is twice MinWatch (semantics 4.2).
	MinWatch time.Duration
	// WatchMaxAge is the maximum lifetime of a watch, jittered, whatever timeoutSeconds is; 0 means unlimited. Watches of
	// callers that act as the kubeconfig's user may last longer.
	WatchMaxAge      time.Duration
	BookmarkInterval time.Duration
	// SlowWatchLag is how long a watch may lag behind before the Observer is notified; 0 means never.
	SlowWatchLag time.Duration
	Limits       Limits
	// Memory is the budget for large responses and watches; nil means unlimited.
	Memory *budget.Budget
	// WriteTimeout is how long a client may take to accept one piece of a response.
	WriteTimeout time.Duration
	// Draining is cancelled when draining begins, after the shutdown delay. From then on, no watch begins, and the server
	// ends open watches within WatchTermination.
	Draining         context.Context
	WatchTermination time.Duration
	// Leaving is cancelled when the server begins to refuse all requests except health and metrics; nil means never.
	Leaving context.Context
	// GoawayChance is the probability, from 0 to 1, that a response makes an HTTP/2 client reconnect.
	GoawayChance float64
}

// Server contains the steps of the handler chain.
type Server struct {
	resolver      resolver
	authenticator Authenticator
	selfReviewer  SelfReviewer
	turns         turns
	limiter       *limiter
	authorization authorizationCheck
	documents     *upstream.Documents
	fields        *upstream.Fields
	shards        *upstream.Shards
	upstream      *upstream.PassThrough
	metrics, slis http.Handler
	counters      Counters
	profiles      http.Handler
	level         *oplog.Level
	checks        []Check

	precompressed *wire.Precompressed
	times         times
	yamlSeats     *semaphore.Weighted // limits conversions to YAML
	termination   *watchTermination
	drainCheck    drainCheck
	observer      observe.Observer

	inflight *observe.Inflight
	clients  *accounting.Clients
	page     *page.Page
	zpages   []*zpages.Page
	log      *zap.Logger
}

type times struct {
	maxStaleness, minWatch, watchAge, bookmarks, write, watchLag time.Duration
}

// New returns the handler of all paths that the facade serves.
func New(c Config) http.Handler {
	s := &Server{
		resolver: resolver{catalog: c.Catalog, formats: newFormats(c.Encodings, c.Offers), authorizer: c.Authorizer,
			uncached: c.Uncached, timeout: c.RequestTimeout, passAs: c.PassAs, shards: c.ShardSelectors,
			hop: c.Hop},
		authenticator: c.Authenticator, selfReviewer: c.SelfReviewer,
		turns:   newTurns(c.Limits.Watches, c.RequestTimeout),
		limiter: newLimiter(c.Draining, c.RequestTimeout),
		authorization: authorizationCheck{authorizer: c.Authorizer, catalog: c.Catalog, lanes: c.Lanes,
			waiting: limit.NewConcurrencyLimit(waitBounds), relisting: limit.NewConcurrencyLimit(relistBounds),
			draining: c.Draining},
		documents: c.Documents, fields: c.Fields, shards: c.Shards, upstream: c.Upstream, metrics: c.Metrics, slis: c.SLIs,
		counters: c.Counters, profiles: c.Profiles, level: c.Level, checks: c.Checks,
		times: times{
			maxStaleness: c.MaxStaleness, minWatch: c.MinWatch, watchAge: c.WatchMaxAge, bookmarks: c.BookmarkInterval,
			write:    c.WriteTimeout,
			watchLag: c.SlowWatchLag,
		},
		precompressed: c.Precompressed,
		yamlSeats:     semaphore.NewWeighted(maxYAMLConversions),
		termination:   newWatchTermination(c.Draining, c.WatchTermination),
		drainCheck:    drainCheck{leaving: c.Leaving, goaway: c.GoawayChance},
		observer:      c.Observer, inflight: c.Inflight, clients: c.Clients, page: c.Page, zpages: c.ZPages,
		log: oplog.Few(c.Log),
	}
	if s.counters == nil {
		s.counters = discardCounters{}
	}
	s.limiter.shares = newShares(c.Limits)
	s.limiter.memory = c.Memory
	stalls := stallBounds
	stalls.Bytes = c.Memory.Share(stallShare, stalls.Bytes)
	s.limiter.stalls = limit.NewStalls(stalls)
	s.limiter.buffered = semaphore.NewWeighted(c.Memory.Share(bufferedShare, bufferedOverall))
	if s.page != nil {
		s.page.ShowLimits(s.limits)
	}
	return s.routes()
}
