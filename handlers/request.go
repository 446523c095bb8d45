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

// subject says whether a request is about the upstream or about the facade. It determines the later steps.
type subject int

const (
	aboutResource subject = iota // objects of the API, or another path below /api and /apis
	aboutDocument                // discovery, OpenAPI or the version
	aboutAnything                // any other path of the upstream
	aboutHealth                  // the facade's own health
	aboutFacade                  // other paths about the facade, such as metrics and profiles
)

// own reports whether a request is about the facade itself. Such a request is never forwarded.
func (s subject) own() bool { return s == aboutHealth || s == aboutFacade }

// Request is one request after the resolve step. It replaces the *http.Request, except for credentials, bodies, the
// media type and the reply. Later steps set the fields that need the caller or the lane, such as Caller and Predicate.
type Request struct {
	Event      *observe.Event
	Caller     *auth.Caller // set by the authenticate step
	Attributes auth.Attributes

	subject subject
	info    *request.RequestInfo // never nil
	method  string
	url     *url.URL
	query   url.Values
	header  http.Header   // of the client, with the Audit-Id of the response
	timeout time.Duration // for the complete response; 0 for a long-running request
	arrived time.Time     // when the request arrived, before any request to the upstream
	upgrade bool          // the client asks for a websocket, which only a watch may have
	// shardsHere means that the cache applies the shard selector, even if the upstream would ignore it.
	shardsHere bool
	token      string // the caller's bearer token, if it authenticated the caller
	body       []byte // of a review; nil for all other requests
	// undiscovered is discovery's error for the resource. It is the response if the request cannot be forwarded.
	undiscovered error
	// reason is why the cache is not used; empty if it may be used.
	reason observe.Reason

	// Fields for a read that the cache may serve:

	GVR       schema.GroupVersionResource
	Namespace string // "" for all namespaces or a cluster-scoped resource
	Name      string // of a get; for a list or watch, from its field selector
	resource  upstream.Resource
	media     media
	// byPath means that a watch uses the deprecated /watch/ path instead of the parameter watch (semantics 4.9).
	byPath    bool
	Options   metainternalversion.ListOptions // of a list or watch, defaulted and validated
	malformed error                           // error of the options; only authorized callers receive it
	Predicate *selectors.Predicate            // of a list or watch; nil until the lane knows its kind
}

func (q *Request) bounded(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	if q.timeout == 0 {
		return context.WithCancelCause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	return ctx, func(error) { cancel() }
}

func (q *Request) verb() string { return q.info.Verb }

func (q *Request) isWatch() bool { return q.info.Verb == verbWatch }

func (q *Request) outgoing(ctx context.Context) *http.Request {
	r := &http.Request{Method: q.method, URL: q.url, Header: q.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if q.body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(q.body)), int64(len(q.body))
	}
	return r.WithContext(ctx)
}

// prefix returns the prefix of the keys in the request's namespace.
func (q *Request) prefix() string {
	if q.Namespace == "" {
		return ""
	}
	return q.Namespace + "/"
}

// keyPrefix returns the prefix of the keys that a list or watch can return. A field selector on metadata.namespace
// narrows a request for all namespaces to the prefix of that namespace (semantics 5.4). Continue tokens are relative to
// this prefix.
func (q *Request) keyPrefix() string {
	if q.Predicate.Namespace() == "" {
		return ""
	}
	return q.Predicate.Namespace() + "/"
}

// continuesNarrowed reports whether a continued list has a field selector on a namespace. kube-apiserver creates the
// continue token of such a list relative to the namespace, but reads it relative to the complete collection. The
// continued list may then start from its beginning again.
func (q *Request) continuesNarrowed() bool {
	return q.Options.Continue != "" && q.keyPrefix() != q.prefix()
}

// pinned reports whether kube-apiserver would read a single key. limit and resourceVersionMatch=Exact then have another
// meaning (semantics 2.1).
func (q *Request) pinned() bool { return q.namesOne() && q.Options.Continue == "" }

// namesOne reports whether the selectors match a single key.
func (q *Request) namesOne() bool {
	return q.Predicate.Name() != "" && (!q.resource.Namespaced || q.Predicate.Namespace() != "")
}

// sendsInitialEvents reports whether a watch is a streaming list (sendInitialEvents=true).
func (q *Request) sendsInitialEvents() bool {
	return q.Options.SendInitialEvents != nil && *q.Options.SendInitialEvents
}
