package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

const (
	verbGet   = "get"
	verbList  = "list"
	verbWatch = "watch"
)

// resolver is kube-apiserver's own reading of paths, so that what is authorized here is what would be authorized there.
var resolver = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// Request is one read, parsed once. Immutable.
type Request struct {
	Verb       string // get, list or watch
	GVR        schema.GroupVersionResource
	Namespace  string // "" is all namespaces or a cluster-scoped resource
	Name       string // of a get; of a list or watch whose field selector pins it
	Attributes auth.Attributes
	media      media
	arrived    time.Time // before anything was asked on its behalf

	// byPath: a watch that was asked for by the deprecated /watch/ path, not by a parameter (semantics 4.9).
	byPath    bool
	query     url.Values
	Options   metainternalversion.ListOptions // of a list or watch, defaulted and validated
	Predicate *selectors.Predicate
}

// attributesOf is what the authorizer is asked, as kube-apiserver builds it: selectors that do not parse are left out, which
// only widens the question.
func attributesOf(info *request.RequestInfo) auth.Attributes {
	a := auth.Attributes{
		Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
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

// newRequest reads what a request asks of a lane's kind. Its errors are kube-apiserver's (semantics 1).
func newRequest(r *http.Request, info *request.RequestInfo, m media, lane *upstream.Lane) (*Request, error) {
	q := &Request{
		Verb: info.Verb, Namespace: info.Namespace, Name: info.Name, media: m, query: r.URL.Query(), byPath: viaWatchPath(info),
		GVR:        schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource},
		Attributes: attributesOf(info),
	}
	if lane.Resource.Scope == selectors.Cluster {
		q.Namespace = "" // RequestInfo calls a namespace's own name its namespace
	}
	if q.Verb == verbGet {
		return q, q.checkGet()
	}
	kind := lane.Kind()
	if err := q.readOptions(kind); err != nil {
		return nil, err
	}
	q.Predicate = kind.Predicate(q.Namespace, q.Options.LabelSelector, q.Options.FieldSelector)
	return q, nil
}

// checkGet refuses what kube-apiserver refuses of a get (semantics 3).
func (q *Request) checkGet() error {
	if q.query.Get("export") != "" && q.query.Get("export") != "false" {
		return badRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}

// readOptions decodes, defaults, validates and converts, in this order: which of several mistakes is told depends on it.
func (q *Request) readOptions(kind *selectors.Kind) error {
	opts := &q.Options
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(q.query, metav1.SchemeGroupVersion, opts); err != nil {
		return badRequest(err.Error())
	}
	metainternalversion.SetListOptionsDefaults(opts, true)
	if errs := validation.ValidateListOptions(opts, true); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	var err error
	if opts.FieldSelector, err = kind.ConvertFields(opts.FieldSelector); err != nil {
		return badRequest(err.Error())
	}
	if q.Name == "" {
		return nil
	}
	if opts.FieldSelector, err = selectors.PinName(opts.FieldSelector, q.Name); err != nil {
		return badRequest(err.Error())
	}
	return nil
}

// prefix is how the keys of the request's namespace begin.
func (q *Request) prefix() string {
	if q.Namespace == "" {
		return ""
	}
	return q.Namespace + "/"
}

// keyPrefix is how the keys that a list or watch can return begin: a field selector on metadata.namespace narrows a request
// for all namespaces (semantics 5.4), and tokens are relative to the narrowed prefix.
func (q *Request) keyPrefix() string {
	if q.Predicate.Namespace() == "" {
		return ""
	}
	return q.Predicate.Namespace() + "/"
}

// strays tells of a continued list whose field selector names a namespace. kube-apiserver reads its token from the root of the
// whole collection, even one that it gave out for the namespace, and so may begin again.
func (q *Request) strays() bool { return q.Options.Continue != "" && q.keyPrefix() != q.prefix() }

// pinned tells whether kube-apiserver would read a single key: then limit and Exact mean something else (semantics 2.1).
func (q *Request) pinned(scope selectors.Scope) bool {
	return q.Predicate.Name() != "" && q.Options.Continue == "" &&
		(scope == selectors.Cluster || q.Predicate.Namespace() != "")
}

// parseRV reads a resourceVersion that a get or a watch names; "" and "0" are 0.
func parseRV(s string) (cache.RV, error) {
	if s == "" || s == "0" {
		return 0, nil
	}
	rv, err := cache.ParseRV(s)
	if err != nil {
		return 0, &invalidRVError{text: rvMessage(s)}
	}
	return rv, nil
}

// viaWatchPath tells whether the deprecated /watch/ form of a path was used.
func viaWatchPath(info *request.RequestInfo) bool {
	parts := strings.Split(strings.Trim(info.Path, "/"), "/")
	if parts[0] == "api" {
		return len(parts) > 2 && parts[2] == "watch"
	}
	return len(parts) > 3 && parts[3] == "watch"
}
