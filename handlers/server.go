package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// Authorizer says whether a read is allowed. auth.ErrDenied and every other error mean that it is not.
type Authorizer interface {
	Authorize(ctx context.Context, a auth.Attributes) (auth.Grant, error)
}

// Metrics is what the package reports; implementations must be safe for concurrent use.
type Metrics interface {
	Answered(r observe.Request)
	Sent(resource string, events int)
	Terminated(reason string)
	Handler() http.Handler
}

// Config is what a Server is made of. Every field is needed unless it says otherwise.
type Config struct {
	Catalog    *upstream.Catalog
	Lanes      *upstream.Lanes
	Documents  *upstream.Documents
	Upstream   *upstream.PassThrough
	Authorizer Authorizer
	Metrics    Metrics
	Log        *zap.Logger
	Checks     []Check

	// Uncached resources are always passed through.
	Uncached map[schema.GroupResource]bool
	// MaxStaleness is how long the cache is served after the upstream was last heard; 0 means without end.
	MaxStaleness time.Duration
	// RequestTimeout bounds every request but watches.
	RequestTimeout time.Duration
	// MinWatch is the shortest life of a watch without timeoutSeconds; the longest is twice that (semantics 4.2).
	MinWatch time.Duration
	// BookmarkInterval is the time between a watch's bookmarks.
	BookmarkInterval time.Duration
	// WriteTimeout is how long a client may take to accept one piece of an answer.
	WriteTimeout time.Duration
	// Draining ends when the server begins to shut down: watches end.
	Draining context.Context
}

// Server answers requests.
type Server struct {
	Config
	log          *zap.Logger
	maxStaleness time.Duration
	bulk         *semaphore.Weighted
}

// New makes the handler of everything that the facade serves.
func New(config Config) http.Handler {
	s := &Server{Config: config, log: config.Log, maxStaleness: config.MaxStaleness, bulk: semaphore.NewWeighted(bulkForwards)}
	return s.routes()
}

// resource answers a request for an API object or collection.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) error {
	arrived := time.Now()
	info, err := resolver.NewRequestInfo(r)
	if err != nil || !isRead(info) || r.Method != http.MethodGet {
		return s.forward(w, r)
	}
	trailOf(r).describe(info)
	if info.Verb == verbWatch && s.Draining.Err() != nil {
		w.Header().Set("Connection", "close") // which asks HTTP/2 clients, too, to come back on another connection
		return upstream.ErrStopped            // a watch that ends at once would make its client list everything again
	}
	lane, err := s.open(r.Context(), info)
	if err != nil {
		return s.forwardIf(w, r, err)
	}
	state, err := s.ready(lane)
	if err != nil {
		return s.unready(w, r, info, err)
	}
	m, ok := negotiate(r, info.Verb, state.Shape().Custom)
	if !ok || m.transform == asTable && !printable(lane.Resource.GVR.GroupResource(), state.Shape()) {
		return s.forward(w, r)
	}
	warn(w.Header(), lane) // on refusals too
	q, err := newRequest(r, info, m, lane)
	if err != nil {
		return err
	}
	q.arrived = arrived
	trailOf(r).source = sourceCache
	err = s.serve(w, r, q, lane)
	if errors.Is(err, errForward) {
		w.Header().Del("Warning")
	}
	return s.forwardIf(w, r, err)
}

// isRead tells whether a request is one for whole objects. "/apis//v1" reads as the core group but is no path of it, and a
// path may name a verb of its own ("/api/v1/proxy").
func isRead(info *request.RequestInfo) bool {
	verb := info.Verb == verbGet || info.Verb == verbList || info.Verb == verbWatch
	return verb && info.IsResourceRequest && info.Subresource == "" && (info.APIPrefix == "api") == (info.APIGroup == "")
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, q *Request, lane *upstream.Lane) error {
	switch q.Verb {
	case verbList:
		if q.strays() {
			return errForward
		}
		return s.list(w, r, q, lane)
	case verbWatch:
		return s.watch(w, r, q, lane)
	default:
		return s.get(w, r, q, lane)
	}
}

// forwardIf lets the upstream answer when err says so; any other error is the answer.
func (s *Server) forwardIf(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, errForward) {
		return s.forward(w, r)
	}
	return err
}

// open returns the lane that may be read for a request. It is the only way to one: the authorizer's grant for exactly
// these attributes comes first. Whatever stands in the way is for the upstream to word.
func (s *Server) open(ctx context.Context, info *request.RequestInfo) (*upstream.Lane, error) {
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	resource, ok, err := s.Catalog.Lookup(ctx, gvr)
	if err != nil || !ok || !resource.Cacheable || s.Uncached[gvr.GroupResource()] || !scopeFits(resource, info) {
		return nil, errForward
	}
	attributes := attributesOf(info)
	grant, err := s.Authorizer.Authorize(ctx, attributes)
	if err != nil || !grant.Covers(attributes) {
		return nil, errForward
	}
	lane, err := s.Lanes.Get(resource)
	if err != nil {
		return nil, err
	}
	lane.AwaitSync(ctx, syncGrace)
	if failure := lane.Failure(); failure != nil && failure.Refused {
		if failure.Gone() {
			s.Catalog.Forget(gvr)
		}
		return nil, errForward
	}
	return lane, nil
}

// syncGrace is how long a request waits for a lane that it has just started: most resources sync in a few milliseconds,
// and answering them at once spares their clients the retry that a 429 asks for.
const syncGrace = time.Second

// unready answers for a lane that has nothing to show, as an uninitialised cache of kube-apiserver does: what costs the
// upstream little goes there, everything else comes back later (semantics 2.1).
func (s *Server) unready(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, why error) error {
	query := r.URL.Query()
	paged := query.Get("limit") != "" && query.Get("limit") != "0" && query.Get("labelSelector") == "" && query.Get("fieldSelector") == ""
	if info.Verb == verbGet || (info.Verb == verbList && paged) {
		return s.forward(w, r)
	}
	return why
}

// warnAfter is how long the upstream must be silent before clients are told; a watch that is resumed takes less.
const warnAfter = 5 * time.Second

// warn adds the warnings that come with an answer: the upstream's about a deprecated API, and our own about an answer that
// may be old.
func warn(header http.Header, lane *upstream.Lane) {
	for _, warning := range lane.Warnings() {
		header.Add("Warning", warning)
	}
	if stale := lane.StaleFor(); stale > warnAfter {
		header.Add("Warning", fmt.Sprintf("299 - \"the upstream kube-apiserver has not been heard for %s\"", stale.Round(time.Second)))
	}
}

// scopeFits tells whether a path addresses a resource as its scope wants: a namespaced resource's objects are below a
// namespace, a cluster-scoped resource knows none. What does not fit has 404s of several kinds, all the upstream's.
func scopeFits(resource upstream.Resource, info *request.RequestInfo) bool {
	if resource.Scope == selectors.Cluster {
		// A namespace is below itself for the resolver; namespaces below a namespace are not.
		return info.Namespace == "" || info.Resource == "namespaces" && !strings.Contains(info.Path, "/"+info.Namespace+"/namespaces")
	}
	return info.Namespace != "" || info.Verb != verbGet
}
