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
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/zpages"
)

// Config is what a Server is made of. Every field is needed unless it says otherwise.
type Config struct {
	Catalog       *upstream.Catalog
	Lanes         *reflector.Lanes
	Documents     *upstream.Documents
	Fields        *upstream.Fields
	Upstream      *upstream.PassThrough
	Hop           upstream.Hop // names this facade to itself
	Authenticator Authenticator
	Authorizer    Authorizer
	// SelfReviewer answers reviews of oneself; nil where every caller acts as the kubeconfig's user.
	SelfReviewer  SelfReviewer
	Precompressed *wire.Precompressed // keeps what pages look like in compressed lists
	// Is told of each request when it is over, and on its way if it is an observe.Follower
	Sink observe.Sink
	// Inflight shows requests while they are under way; nil does not, and leaves /debug/requests and /debug/watches to the
	// upstream. Clients answers /debug/clients; nil leaves it to the upstream.
	Inflight *observe.Inflight
	Clients  *accounting.Clients
	// Page answers /debug/status and what is below it, and is told of the limits; nil leaves the paths to the upstream.
	Page     *page.Page
	ZPages   []*zpages.Page // answer /statusz and /flagz; what is not there is left to the upstream
	Metrics  http.Handler   // answers /metrics
	SLIs     http.Handler   // answers /metrics/slis; nil leaves the path to the upstream
	Live     Live           // is told of requests that are under way; nil is nobody
	Profiles http.Handler   // answers below /debug/pprof/; nil leaves the path to the upstream
	Level    *observe.Level // of the log, which whoever may can change; nil leaves the paths to the upstream
	Log      *zap.Logger
	Checks   []Check

	// Uncached resources are always passed through.
	Uncached map[schema.GroupResource]bool
	// PassAs is in whose name the upstream is asked for what is not held.
	PassAs PassThroughAs
	// MaxStaleness is how long the cache is served after the upstream was last heard; 0 means without end.
	MaxStaleness time.Duration
	// RequestTimeout bounds every request but what runs long: watches, logs and profiles.
	RequestTimeout time.Duration
	// MinWatch is the shortest life of a watch without timeoutSeconds; the longest is twice that (semantics 4.2).
	MinWatch time.Duration
	// WatchMaxAge is about the longest life of a watch, whatever its client asks for; 0 does not bound it.
	WatchMaxAge time.Duration
	// BookmarkInterval is the time between a watch's bookmarks.
	BookmarkInterval time.Duration
	// SlowWatchLag is how long a watch may be behind before a Follower is told; 0 means that it never is.
	SlowWatchLag time.Duration
	// Limits are how much callers may have under way.
	Limits Limits
	// Memory is what large answers and watches take theirs of; nil is any amount.
	Memory *budget.Budget
	// WriteTimeout is how long a client may take to accept one piece of an answer.
	WriteTimeout time.Duration
	// Draining ends when the server begins to shut down: watches end, all of them within WatchTermination, and none
	// begins.
	Draining         context.Context
	WatchTermination time.Duration
	// Leaving ends when every request but for health and metrics is refused, because the server has shut down; nil:
	// none is.
	Leaving context.Context
	// GoawayChance is how likely, from 0 to 1, an answer asks an HTTP/2 client to come back on another connection.
	GoawayChance float64
}

// Server answers requests. It holds the stations of their road, and no lane.
type Server struct {
	resolver      resolver
	authenticator Authenticator
	selfReviewer  SelfReviewer
	limiter       *limiter
	authorization authorizationCheck
	documents     *upstream.Documents
	fields        *upstream.Fields
	upstream      *upstream.PassThrough
	metrics, slis http.Handler
	live          Live
	profiles      http.Handler
	level         *observe.Level
	checks        []Check

	precompressed *wire.Precompressed
	times         times
	yamlSeats     *semaphore.Weighted // of becoming YAML
	termination   *watchTermination
	drainCheck    drainCheck
	sink          observe.Sink
	follower      observe.Follower // the sink, if it is one

	inflight *observe.Inflight
	clients  *accounting.Clients
	page     *page.Page
	zpages   []*zpages.Page
	log      *zap.Logger
}

// times are how long things may take or last; see Config.
type times struct {
	maxStaleness, minWatch, watchAge, bookmarks, write, watchLag time.Duration
}

// New makes the handler of everything that the facade serves.
func New(c Config) http.Handler {
	s := &Server{
		resolver:      resolver{catalog: c.Catalog, authorizer: c.Authorizer, uncached: c.Uncached, timeout: c.RequestTimeout, passAs: c.PassAs, hop: c.Hop},
		authenticator: c.Authenticator, selfReviewer: c.SelfReviewer,
		limiter:       newLimiter(c.Draining, c.RequestTimeout),
		authorization: authorizationCheck{authorizer: c.Authorizer, catalog: c.Catalog, lanes: c.Lanes, waiting: limit.NewConcurrencyLimit(waitBounds), draining: c.Draining},
		documents:     c.Documents, fields: c.Fields, upstream: c.Upstream, metrics: c.Metrics, slis: c.SLIs, live: c.Live, profiles: c.Profiles, level: c.Level, checks: c.Checks,
		times: times{
			maxStaleness: c.MaxStaleness, minWatch: c.MinWatch, watchAge: c.WatchMaxAge, bookmarks: c.BookmarkInterval, write: c.WriteTimeout,
			watchLag: c.SlowWatchLag,
		},
		precompressed: c.Precompressed,
		yamlSeats:     semaphore.NewWeighted(yamlAtOnce),
		termination:   newWatchTermination(c.Draining, c.WatchTermination),
		drainCheck:    drainCheck{leaving: c.Leaving, goaway: c.GoawayChance},
		sink:          c.Sink, inflight: c.Inflight, clients: c.Clients, page: c.Page, zpages: c.ZPages, log: observe.Few(c.Log),
	}
	if s.live == nil {
		s.live = nobody{}
	}
	s.limiter.shares = newShares(c.Limits)
	s.limiter.memory = c.Memory
	stalls := stallBounds
	stalls.Bytes = c.Memory.Share(stallShare, stalls.Bytes)
	s.limiter.stalls = limit.NewStalls(stalls)
	s.limiter.buffered = semaphore.NewWeighted(c.Memory.Share(bufferedShare, bufferedOverall))
	s.follower, _ = c.Sink.(observe.Follower)
	if s.page != nil {
		s.page.ShowLimits(s.limits)
	}
	return s.routes()
}
