package handlers

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
)

// A path is straight when cleaning would not change it, but for a slash at its end. Only straight paths go to the
// upstream: whatever stands between may clean the others, and then what is answered is not what was authorized.
// kube-apiserver cleans no path, so what it says to the others is known (semantics 8.6) and said here.

// isCanonical tells whether a path reads the same to whoever cleans it.
func isCanonical(p string) bool {
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// trimmed are the places below which kube-apiserver does not count the slashes at a path's end.
var trimmed = []string{"/api/", "/apis/", "/version/", "/.well-known/openid-configuration/", "/openid/v1/jwks/"}

// spelled is a URL in the one spelling that this server passes on: nothing is encoded that need not be, and slashes at
// the end are one where kube-apiserver does not count them.
func spelled(u *url.URL) *url.URL {
	s := *u
	s.RawPath = ""
	bare := strings.TrimRight(s.Path, "/")
	counts := !slices.ContainsFunc(trimmed, func(place string) bool { return strings.HasPrefix(s.Path, place) })
	if counts || bare == "/apis" || len(s.Path)-len(bare) < 2 {
		return &s
	}
	s.Path = bare + "/"
	return &s
}

// straighten gives a crooked path that kube-apiserver understands the straight one which means the same. Its errors are
// what kube-apiserver says to every other.
func (v *resolver) canonicalize(ctx context.Context, q *Request) error {
	info := q.info
	if q.subject.own() || isCanonical(q.url.Path) {
		return nil
	}
	if q.subject != aboutResource || !info.IsResourceRequest || (info.APIPrefix == "api") != (info.APIGroup == "") {
		return v.unrouted(ctx, q)
	}
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	resource, known, err := v.catalog.Lookup(ctx, gvr)
	switch {
	case err != nil:
		return &upstream.UnreachableError{Err: err}
	case !known || !resource.Cacheable:
		return v.unrouted(ctx, q)
	case resource.Custom:
		err = v.crookedCustom(info, resource)
	default:
		err = v.crookedBuiltin(info, resource)
	}
	if err == nil {
		err = checkNames(q, resource)
	}
	if err == nil {
		straight := *q.url
		straight.Path = plainPath(info, resource)
		q.url = &straight
	}
	return err
}

// unrouted is the 404 of a path that is no resource's; it depends on which of its parts kube-apiserver got stuck in.
func (v *resolver) unrouted(ctx context.Context, q *Request) error {
	p := q.url.Path
	if strings.HasPrefix(p, "/openapi/v3/") {
		return errNoDocument
	}
	routed := strings.HasPrefix(p, "/api/") ||
		slices.ContainsFunc(trimmed, func(place string) bool { return place != "/apis/" && strings.HasPrefix(p, place) })
	below, _ := strings.CutPrefix(p, "/apis/")
	if group, _, _ := strings.Cut(below, "/"); below != p && group != "" { // the core group is not below /apis
		var err error
		if routed, err = v.catalog.BuiltIn(ctx, group); err != nil {
			return &upstream.UnreachableError{Err: err}
		}
	}
	if routed {
		return errNoRoute
	}
	return errNoPath
}

// crookedCustom refuses what kube-apiserver refuses of a path that names a custom resource. It takes of such a path
// what RequestInfo says, and nothing else.
func (v *resolver) crookedCustom(info *request.RequestInfo, resource upstream.Resource) error {
	if (info.Namespace != "") != resource.Namespaced && (info.Namespace != "" || info.Verb == verbGet) {
		return errNoPath
	}
	switch sub := info.Subresource; {
	case sub == "":
		return nil
	case !v.catalog.HasSubresource(resource.GVR, sub):
		return notFound(resource.GVR.GroupResource(), info.Name)
	case info.Name == "":
		return notSupported(resource.GVR.GroupResource(), info.Verb)
	default:
		return nil
	}
}

// crookedBuiltin refuses what has no route: those of built-in resources count every segment, but a namespace or a name
// may be any, and none.
func (v *resolver) crookedBuiltin(info *request.RequestInfo, resource upstream.Resource) error {
	sub := info.Subresource
	switch {
	case len(info.Parts) > 3, len(info.Parts) == 3 && !v.catalog.HasSubresource(resource.GVR, sub),
		sub != "" && info.Verb == verbWatch, !scopeFits(resource, info):
		return errNoRoute
	case sub != "" && info.Name == "":
		return badRequest("name must be provided")
	case resource.Namespaced && info.Namespace == "" && (info.Verb == verbGet || sub != ""):
		return badRequest("Namespace parameter required.")
	default:
		return nil
	}
}

// dots are segments that are no names.
var dots = sets.New(".", "..")

// checkNames refuses dots for names, as kube-apiserver's storage does, after what it says before that.
func checkNames(q *Request, resource upstream.Resource) error {
	info := q.info
	if info.Verb == verbGet && dots.Has(info.Name) {
		return invalidName(info.Name)
	}
	if !resource.Namespaced || !dots.Has(info.Namespace) {
		return nil
	}
	if info.Verb != verbGet {
		if _, err := readOptions(info.Verb, q.query); err != nil {
			return err
		}
	}
	version := q.query.Get("resourceVersion")
	if _, err := cache.ParseRV(version); version != "" && err != nil && !resource.ReadFromEtcd() && info.Verb != verbWatch {
		if info.Verb == verbList {
			return invalidVersion(version)
		}
		return &invalidRVError{text: versionMessage(version)}
	}
	return &invalidKeyError{key: keyOf(info, resource)}
}

// keyOf is the key in etcd, below kube-apiserver's prefix.
func keyOf(info *request.RequestInfo, resource upstream.Resource) string {
	parts := []string{"", resource.GVR.Resource, info.Namespace}
	if prefix, ok := etcdPrefixes[resource.GVR.GroupResource()]; ok {
		parts[1] = prefix
	}
	if resource.Custom {
		parts[1] = resource.GVR.Group + "/" + resource.GVR.Resource
	}
	if len(info.Parts) > 1 {
		parts = append(parts, info.Parts[1])
	}
	return strings.Join(parts, "/")
}

// etcdPrefixes are where kube-apiserver keeps the namespaced kinds that are not below their own names.
var etcdPrefixes = map[schema.GroupResource]string{
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "services"}:                              "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
}

// plainPath is the path of what a path was understood to mean.
func plainPath(info *request.RequestInfo, resource upstream.Resource) string {
	at := upstream.Resource{GVR: resource.GVR}
	if viaWatchPath(info) {
		at.GVR.Version += "/watch"
	}
	namespace := ""
	if resource.Namespaced {
		namespace = info.Namespace
	}
	parts := []string{at.Path(namespace)}
	if len(info.Parts) > 1 && info.Parts[1] != "" {
		parts = append(parts, info.Parts[1])
	}
	if info.Subresource != "" {
		parts = append(parts, info.Subresource)
	}
	return strings.Join(parts, "/")
}
