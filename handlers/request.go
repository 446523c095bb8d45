package handlers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

const (
	verbGet   = "get"
	verbList  = "list"
	verbWatch = "watch"
	verbProxy = "proxy"
)

// subject is what a request is about. The rest of its road depends on it.
type subject int

const (
	aboutResource subject = iota // objects of the API, or what stands below /api and /apis and is none
	aboutDocument                // discovery, OpenAPI, the version
	aboutAnything                // whatever else the upstream may serve
	aboutHealth                  // the facade's own health
	aboutFacade                  // the facade's own metrics, profiles and log
)

// own tells what the facade answers about itself and never passes on.
func (s subject) own() bool { return s == aboutHealth || s == aboutFacade }

// Request is one request, resolved once: behind the resolve station only the reply, which is the connection, knows the
// *http.Request. Immutable, but for what a later station adds (Caller, Predicate) and the Event, which is filled on the
// way.
type Request struct {
	Event      *observe.Event
	Caller     *auth.Caller // who asks; set by the authenticate station
	Attributes auth.Attributes

	subject subject
	info    *request.RequestInfo // never nil
	method  string
	url     *url.URL
	query   url.Values
	header  http.Header   // the client's, with the Audit-Id that the answer has
	timeout time.Duration // for the whole answer; 0 for what runs long
	arrived time.Time     // before anything was asked on its behalf
	upgrade bool          // a watch over a websocket
	token   string        // the caller's, where it was what proved the caller; it lives as long as the request
	body    []byte        // of a review; nothing else has one
	// undiscovered says why discovery could not be asked about the resource, in the words of the answer.
	undiscovered error
	// reason says why the cache is not asked; empty when it may be.
	reason observe.Reason

	// For a read that the cache may answer:

	GVR       schema.GroupVersionResource
	Namespace string // "" is all namespaces or a cluster-scoped resource
	Name      string // of a get; of a list or watch whose field selector pins it
	resource  upstream.Resource
	media     media
	// byPath: a watch that was asked for by the deprecated /watch/ path, not by a parameter (semantics 4.9).
	byPath    bool
	Options   metainternalversion.ListOptions // of a list or watch, defaulted and validated
	malformed error                           // what is wrong with the options; said only to who may read
	Predicate *selectors.Predicate            // of a list or watch; set once its lane knows the kind
}

// bounded gives the request the time that it may take.
func (q *Request) bounded(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	if q.timeout == 0 {
		return context.WithCancelCause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	return ctx, func(error) { cancel() }
}

// verb is get, list or watch of a read.
func (q *Request) verb() string { return q.info.Verb }

// isWatch tells a request for a stream of events.
func (q *Request) isWatch() bool { return q.info.Verb == verbWatch }

// outgoing is the request as the upstream is asked it.
func (q *Request) outgoing(ctx context.Context) *http.Request {
	r := &http.Request{Method: q.method, URL: q.url, Header: q.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if q.body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(q.body)), int64(len(q.body))
	}
	return r.WithContext(ctx)
}

// prefix is how the keys of the request's namespace begin.
func (q *Request) prefix() string {
	if q.Namespace == "" {
		return ""
	}
	return q.Namespace + "/"
}

// keyPrefix is how the keys that a list or watch can return begin: a field selector on metadata.namespace narrows a
// request for all namespaces (semantics 5.4), and tokens are relative to the narrowed prefix.
func (q *Request) keyPrefix() string {
	if q.Predicate.Namespace() == "" {
		return ""
	}
	return q.Predicate.Namespace() + "/"
}

// strays tells of a continued list whose field selector names a namespace. kube-apiserver reads its token from the root
// of the whole collection, even one that it gave out for the namespace, and so may begin again.
func (q *Request) strays() bool { return q.Options.Continue != "" && q.keyPrefix() != q.prefix() }

// pinned tells whether kube-apiserver would read a single key: then limit and Exact mean something else (semantics
// 2.1).
func (q *Request) pinned() bool { return q.namesOne() && q.Options.Continue == "" }

// namesOne tells whether what is selected has one key.
func (q *Request) namesOne() bool {
	return q.Predicate.Name() != "" && (!q.resource.Namespaced || q.Predicate.Namespace() != "")
}

// sendsInitialEvents tells a streaming list from other watches.
func (q *Request) sendsInitialEvents() bool {
	return q.Options.SendInitialEvents != nil && *q.Options.SendInitialEvents
}
