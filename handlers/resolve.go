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
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// paths is kube-apiserver's own reading of paths, so that what is authorized here is what would be authorized there.
var paths = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// resolver is the first station: it reads a request once.
type resolver struct {
	catalog    *upstream.Catalog
	authorizer Authorizer
	uncached   map[schema.GroupResource]bool
	timeout    time.Duration
	passAs     PassThroughAs
	hop        upstream.Hop
}

// resolve reads what the request itself says. Its errors are what kube-apiserver says before it asks who it is.
func (v *resolver) resolve(r *http.Request, about subject, e *observe.Event) (*Request, error) {
	if err := withinBounds(r.RequestURI, r.URL); err != nil {
		return nil, err
	}
	if about != aboutHealth && v.hop.Sees(r.Header) {
		return nil, errLoop // before anybody is authenticated: the question would come back, too
	}
	q := &Request{
		Event: e, subject: about, method: r.Method, url: spelled(r.URL), query: r.URL.Query(), header: r.Header, arrived: e.Began,
		upgrade: isUpgrade(r),
	}
	info, err := paths.NewRequestInfo(r)
	if err != nil {
		info, q.reason = &request.RequestInfo{}, observe.Unreadable // the upstream says what is wrong with it
	}
	q.info = info
	describe(e, info)
	e.LongRunning = q.runsLong()
	q.timeout = v.timeout
	if q.reason == "" { // what cannot be read is refused before its timeout is looked at
		if q.timeout, err = v.timeoutOf(q); err != nil {
			return q, err
		}
	}
	return q, nil
}

// discover adds what discovery says of what the request is about: whether the cache may be asked, and for which form.
// It may ask the upstream what it serves, for a caller that may read it, and is told no object's content.
func (v *resolver) discover(ctx context.Context, q *Request, r *http.Request) {
	switch {
	case q.subject == aboutResource && q.reason == "":
		v.discoverRead(ctx, q, r)
	case q.subject == aboutAnything:
		q.reason = observe.NotARead
	}
	q.Attributes = attributesOf(q)
	q.Attributes.PassedThrough = v.passedThrough(q)
	q.Event.Selector = shapeOf(q.Attributes)
}

// describe writes down what the path says.
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

// timeoutOf bounds every request but those that run long by the server's request timeout, or by a shorter one that the
// client names (semantics 1.1). It is looked at before the method is, as kube-apiserver does.
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

// runsLong tells what kube-apiserver does not bound: watches, logs, connections and profiles.
func (q *Request) runsLong() bool {
	return q.isWatch() || q.info.Verb == verbProxy || q.info.Subresource == "log" ||
		connectSubresources.Has(q.info.Subresource) || strings.HasPrefix(q.url.Path, profilesPath)
}

// connectSubresources are reads in name only: a GET of them opens a connection into a node or a container.
var connectSubresources = sets.New("exec", "attach", "portforward", "proxy")

// allowsMethod tells whether a request is a read. Health is told whatever the method, as kube-apiserver does.
func (q *Request) allowsMethod() bool {
	switch {
	case q.subject == aboutHealth:
		return true
	case q.subject == aboutFacade: // a profile's reader may send the addresses that it wants the names of
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

// isAboutLevel tells the paths by which the log's level is changed.
func isAboutLevel(path string) bool {
	return path == observe.VerbosityPath || path == observe.LevelPath
}

// discoverRead finds what a request for objects is about, or says why the cache is not asked.
func (v *resolver) discoverRead(ctx context.Context, q *Request, r *http.Request) {
	if !isRead(q.info) || q.method != http.MethodGet {
		// HEAD is the upstream's to answer: it is allowed for custom resources and refused for built-in ones (semantics
		// 8.5).
		q.reason = observe.NotARead
		q.Event.Discovered = q.info.IsResourceRequest && v.catalog.Names(
			schema.GroupVersionResource{Group: q.info.APIGroup, Version: q.info.APIVersion, Resource: q.info.Resource}, q.info.Subresource)
		return
	}
	q.GVR = schema.GroupVersionResource{Group: q.info.APIGroup, Version: q.info.APIVersion, Resource: q.info.Resource}
	q.Namespace, q.Name, q.byPath = q.info.Namespace, q.info.Name, viaWatchPath(q.info)
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
		q.Namespace = "" // RequestInfo calls a namespace's own name its namespace
	}
	if q.info.Verb != verbGet && hasUnserved(q.query) {
		q.reason = observe.Unserved
		return
	}
	var ok bool
	q.media, ok = negotiate(r, q.info.Verb, resource.Custom)
	if !ok || q.media.protobuf && !reflector.Offers(resource, q.media.encoding()) {
		q.reason = observe.MediaType
		return
	}
	q.Options, q.malformed = readOptions(q.info.Verb, q.query)
}

// lookUp finds a resource in discovery. One that is not known is looked for in the upstream's discovery only for a
// caller that may read it: else anybody could have it read again each second.
func (v *resolver) lookUp(ctx context.Context, q *Request) (resource upstream.Resource, known bool, err error) {
	if !v.catalog.Names(q.GVR, "") && q.Caller.Way != auth.ByKubeconfig {
		switch err := v.mayRead(ctx, q); {
		case auth.IsDenied(err):
			return upstream.Resource{}, false, nil
		case err != nil: // which does not say that the resource is not there
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

// mayRead asks the authorizer whether the caller has the right to what it asks for, also where the upstream authorizes
// the request itself. A lack of the right is an *auth.DeniedError. Any other error does not say whether there is one.
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

// isRead tells whether a request is one for whole objects. "/apis//v1" reads as the core group but is no path of it,
// and a path may name a verb of its own ("/api/v1/proxy").
func isRead(info *request.RequestInfo) bool {
	verb := info.Verb == verbGet || info.Verb == verbList || info.Verb == verbWatch
	return verb && info.IsResourceRequest && info.Subresource == "" && (info.APIPrefix == "api") == (info.APIGroup == "")
}

// scopeFits tells whether a path addresses a resource as its scope wants: a namespaced resource's objects are below a
// namespace, a cluster-scoped resource knows none. What does not fit has 404s of several kinds, all the upstream's.
// Custom resources alone may be watched by name in all namespaces (semantics 4.9).
func scopeFits(resource upstream.Resource, info *request.RequestInfo) bool {
	if !resource.Namespaced {
		// A namespace is below itself for RequestInfo; namespaces below a namespace are not.
		return info.Namespace == "" || info.APIGroup == "" && info.Resource == "namespaces" && !strings.Contains(info.Path, "/"+info.Namespace+"/namespaces")
	}
	return info.Namespace != "" || len(info.Parts) < 2 || resource.Custom && info.Verb == verbWatch || inEmptyNamespace(info)
}

// inEmptyNamespace tells a path that names the namespace "", which kube-apiserver reads as all of them.
func inEmptyNamespace(info *request.RequestInfo) bool {
	return strings.Contains(info.Path, "/namespaces//")
}

// isUpgrade tells a client that wants its watch over a websocket (semantics 4.7).
func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade")
}

// viaWatchPath tells whether the deprecated /watch/ form of a path was used.
func viaWatchPath(info *request.RequestInfo) bool {
	parts := strings.Split(strings.Trim(info.Path, "/"), "/")
	if parts[0] == "api" {
		return len(parts) > 2 && parts[2] == "watch"
	}
	return len(parts) > 3 && parts[3] == "watch"
}

// attributesOf is what the authorizer is asked, as kube-apiserver builds it: selectors that do not parse are left out,
// which only widens the question.
func attributesOf(q *Request) auth.Attributes {
	info := q.info
	if !info.IsResourceRequest {
		return auth.Attributes{Caller: q.Caller, Verb: strings.ToLower(q.method), Path: q.info.Path}
	}
	a := auth.Attributes{
		Caller: q.Caller, Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name,
	}
	if f, err := selectors.ParseFields(info.FieldSelector); err == nil {
		a.Fields = f.Requirements()
	}
	if l, err := selectors.ParseLabels(info.LabelSelector); err == nil {
		a.Labels, _ = l.Requirements()
	}
	return a
}

// auditID is what a client may choose as the id of its request; kube-apiserver takes anything, but ids are logged.
var auditID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// auditIDOf is the client's id, or a new one.
func auditIDOf(header http.Header) string {
	if id := header.Get("Audit-Id"); auditID.MatchString(id) {
		return id
	}
	return uuid.NewString()
}
