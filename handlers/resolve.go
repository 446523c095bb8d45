package handlers

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// paths parses paths as kube-apiserver does, so that the facade and kube-apiserver authorize the same attributes.
var paths = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

type resolver struct {
	catalog    *upstream.Catalog
	formats    *formats
	authorizer Authorizer
	uncached   map[schema.GroupResource]bool
	timeout    time.Duration
	passAs     PassThroughAs
	shards     ShardSelectors
	hop        upstream.Hop
}

// resolve parses the request. Its errors are sent before authentication, as in kube-apiserver.
func (v *resolver) resolve(r *http.Request, about subject, e *observe.Event) (*Request, error) {
	if err := withinBounds(r.RequestURI, r.URL); err != nil {
		return nil, err
	}
	if about != aboutHealth && v.hop.Sees(r.Header) {
		return nil, errLoop // before authentication, because reviews for authentication would loop too
	}
	q := &Request{
		Event: e, subject: about, method: r.Method, url: spelled(r.URL), query: r.URL.Query(), header: r.Header,
		arrived: e.Began,
		upgrade: isUpgrade(r),
	}
	info, err := paths.NewRequestInfo(r)
	if err != nil {
		info, q.reason = &request.RequestInfo{}, observe.Unreadable // the upstream answers with the error
	}
	q.info = info
	describe(e, info)
	e.LongRunning = q.runsLong()
	q.timeout = v.timeout
	if q.reason == "" { // kube-apiserver refuses an unreadable request before it parses the timeout
		if q.timeout, err = v.timeoutOf(q); err != nil {
			return q, err
		}
	}
	return q, nil
}

// discover looks up the resource, and decides whether the cache may serve it, and in which representation. It may read
// the upstream's discovery (see lookUp), but it never reads objects.
func (v *resolver) discover(ctx context.Context, q *Request, r *http.Request) {
	switch {
	case q.subject == aboutResource && q.reason == "":
		v.discoverRead(ctx, q, r)
	case q.subject == aboutAnything:
		q.reason = observe.NotARead
	}
	q.Attributes = attributesOf(q)
	q.Attributes.PassedThrough = v.passedThrough(q)
	q.Event.Selector = patternOf(q.Attributes)
}

func describe(e *observe.Event, info *request.RequestInfo) {
	e.Verb, e.Group, e.Version, e.Resource = info.Verb, info.APIGroup, info.APIVersion, info.Resource
	e.Subresource, e.Namespace, e.Name, e.Path = info.Subresource, info.Namespace, info.Name, info.Path
	switch {
	case !info.IsResourceRequest:
	case info.Name != "":
		e.Scope = "resource"
	case info.Namespace != "":
		e.Scope = "namespace"
	default:
		e.Scope = "cluster"
	}
}

// timeoutOf returns the server's request timeout, or a shorter timeout that the client requests (semantics 1.1). It
// returns 0 for a long-running request. Like kube-apiserver, the facade checks the timeout before the method.
func (v *resolver) timeoutOf(q *Request) (time.Duration, error) {
	if q.runsLong() {
		return 0, nil
	}
	asked := q.query.Get("timeout")
	if asked == "" {
		return v.timeout, nil
	}
	wanted, err := time.ParseDuration(asked)
	if err != nil {
		return 0, badRequest("invalid timeout specified in the request URL - " + err.Error())
	}
	if wanted <= 0 {
		return v.timeout, nil
	}
	return min(v.timeout, wanted), nil
}

// runsLong reports whether kube-apiserver sets no timeout for the request. Such requests are watches, logs, connections
// and profiles.
func (q *Request) runsLong() bool {
	return q.isWatch() || q.info.Verb == verbProxy || q.info.Subresource == "log" ||
		connectSubresources.Has(q.info.Subresource) || strings.HasPrefix(q.url.Path, profilesPath)
}

// connectSubresources are subresources whose GET opens a connection to a node, a pod or a service.
var connectSubresources = sets.New("exec", "attach", "portforward", "proxy")

// allowsMethod reports whether the method is allowed. Health allows every method, as in kube-apiserver.
func (q *Request) allowsMethod() bool {
	switch {
	case q.subject == aboutHealth:
		return true
	case q.subject == aboutFacade: // "go tool pprof" sends addresses in a POST, to get their symbols
		return q.method == http.MethodGet || q.method == http.MethodPost && strings.HasPrefix(q.url.Path, profilesPath) ||
			q.method == http.MethodPut && isAboutLevel(q.url.Path)
	case isReview(q):
		return true
	case connectSubresources.Has(q.info.Subresource) || q.info.Verb == verbProxy:
		return false
	default:
		return q.method == http.MethodGet || q.method == http.MethodHead
	}
}

func isAboutLevel(path string) bool {
	return path == oplog.VerbosityPath || path == oplog.LevelPath
}

// discoverRead looks up the resource of a read. If the cache must not serve the read, it sets the reason.
func (v *resolver) discoverRead(ctx context.Context, q *Request, r *http.Request) {
	if !isRead(q.info) || q.method != http.MethodGet {
		// A HEAD is forwarded, because the upstream allows it for custom resources and refuses it for built-in ones
		// (semantics 8.5).
		q.reason = observe.NotARead
		q.Event.Discovered = q.info.IsResourceRequest && v.catalog.Names(
			schema.GroupVersionResource{Group: q.info.APIGroup, Version: q.info.APIVersion, Resource: q.info.Resource},
			q.info.Subresource)
		return
	}
	q.GVR = schema.GroupVersionResource{Group: q.info.APIGroup, Version: q.info.APIVersion, Resource: q.info.Resource}
	q.Namespace, q.Name, q.byPath = q.info.Namespace, q.info.Name, viaWatchPath(q.info)
	q.shardsHere = q.selectsShards() && v.shards == ServeShards
	resource, known, err := v.lookUp(ctx, q)
	q.Event.Discovered = known
	switch {
	case err != nil || !known:
		q.reason, q.undiscovered = observe.Undiscovered, err
		return
	case !resource.Cacheable || v.uncached[q.GVR.GroupResource()]:
		q.reason = observe.NotCached
		return
	}
	q.resource = resource
	if !scopeFits(resource, q.info) {
		q.reason = observe.Unreadable
		return
	}
	if !resource.Namespaced {
		q.Namespace = "" // for a Namespace, RequestInfo sets the namespace to the object's name
	}
	if q.selectsShards() && v.shards == ForwardShards {
		q.reason = observe.Unserved
		return
	}
	var ok bool
	if q.media, ok = v.formats.negotiate(r, q.info.Verb, resource); !ok {
		q.reason = observe.MediaType
		return
	}
	q.Options, q.malformed = readOptions(q.info.Verb, q.query)
}

// lookUp finds a resource in discovery. If discovery lacks the resource, lookUp reads the upstream's discovery again.
// With authentication, the caller must have permission to read the resource, because any client could otherwise cause
// such a read every second.
func (v *resolver) lookUp(ctx context.Context, q *Request) (resource upstream.Resource, known bool, err error) {
	if !v.catalog.Names(q.GVR, "") && q.Caller.Way != auth.ByKubeconfig {
		switch err := v.mayRead(ctx, q); {
		case auth.IsDenied(err):
			return upstream.Resource{}, false, nil
		case err != nil: // the resource may still exist
			return upstream.Resource{}, false, err
		}
	}
	defer q.Event.Waited(observe.Discovering, q.Event.Waiting(observe.Discovering))
	resource, known, err = v.catalog.Lookup(ctx, q.GVR)
	if err != nil {
		err = &upstream.UnreachableError{Err: err}
	}
	return resource, known, err
}

// mayRead authorizes the request, even if the upstream authorizes it too. An *auth.DeniedError means that the caller
// does not have permission. With any other error, the permission is unknown.
func (v *resolver) mayRead(ctx context.Context, q *Request) error {
	defer q.Event.Waited(observe.Authorizing, q.Event.Waiting(observe.Authorizing))
	asked := attributesOf(q)
	decision, err := v.authorizer.Authorize(ctx, asked)
	switch {
	case err == nil && !decision.Covers(asked):
		return &auth.DeniedError{}
	case errors.Is(err, auth.ErrStale):
		return staleError{}
	}
	return err
}

// isRead reports whether a request reads complete objects. It is false for the path "/apis//v1", which RequestInfo
// parses as the core group. It is also false for a path with another verb, such as "/api/v1/proxy".
func isRead(info *request.RequestInfo) bool {
	verb := info.Verb == verbGet || info.Verb == verbList || info.Verb == verbWatch
	return verb && info.IsResourceRequest && info.Subresource == "" && (info.APIPrefix == "api") == (info.APIGroup == "")
}

// scopeFits reports whether a path fits the scope of its resource: objects of namespaced resources are below a
// namespace, and cluster-scoped objects are not. Other paths are forwarded, because kube-apiserver refuses them with
// different 404s. Only custom resources may be watched by name in all namespaces (semantics 4.9).
func scopeFits(resource upstream.Resource, info *request.RequestInfo) bool {
	if !resource.Namespaced {
		// For a Namespace, RequestInfo sets the namespace to the object's name. There are no Namespaces below a namespace.
		return info.Namespace == "" || info.APIGroup == "" && info.Resource == "namespaces" &&
			!strings.Contains(info.Path, "/"+info.Namespace+"/namespaces")
	}
	return info.Namespace != "" || len(info.Parts) < 2 || resource.Custom && info.Verb == verbWatch ||
		inEmptyNamespace(info)
}

// inEmptyNamespace reports whether a path names the namespace "", which kube-apiserver reads as all namespaces.
func inEmptyNamespace(info *request.RequestInfo) bool {
	return strings.Contains(info.Path, "/namespaces//")
}

// isUpgrade reports whether a client wants a websocket (semantics 4.7).
func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade")
}

// viaWatchPath reports whether a path contains the deprecated /watch/.
func viaWatchPath(info *request.RequestInfo) bool {
	parts := strings.Split(strings.Trim(info.Path, "/"), "/")
	if parts[0] == "api" {
		return len(parts) > 2 && parts[2] == "watch"
	}
	return len(parts) > 3 && parts[3] == "watch"
}

// attributesOf returns the attributes for the authorizer, as kube-apiserver builds them. A selector that does not parse
// is left out. Without it, the request can only require more permission.
func attributesOf(q *Request) auth.Attributes {
	info := q.info
	if !info.IsResourceRequest {
		return auth.Attributes{Caller: q.Caller, Verb: strings.ToLower(q.method), Path: q.info.Path}
	}
	a := auth.Attributes{
		Caller: q.Caller, Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource,
		Namespace:   info.Namespace, Name: info.Name,
	}
	if f, err := selectors.ParseFields(info.FieldSelector); err == nil {
		a.Fields = f.Requirements()
	}
	if l, err := selectors.ParseLabels(info.LabelSelector); err == nil {
		a.Labels, _ = l.Requirements()
	}
	return a
}

// auditID matches an id that a client may choose for its request. kube-apiserver accepts any id, but the facade logs
// the id and therefore limits it.
var auditID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func auditIDOf(header http.Header) string {
	if id := header.Get("Audit-Id"); auditID.MatchString(id) {
		return id
	}
	return uuid.NewString()
}
