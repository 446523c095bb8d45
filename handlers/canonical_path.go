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

// A path is canonical if path.Clean does not change it, except for a slash at its end. Only canonical paths are
// forwarded. A proxy before the upstream may clean other paths, and the upstream would then serve a path that was not
// authorized. kube-apiserver does not clean paths. Its responses to paths that are not canonical are known (semantics
// 8.6), so the facade sends these responses itself.

func isCanonical(p string) bool {
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// trimmed are the prefixes below which kube-apiserver ignores slashes at the end of a path.
var trimmed = []string{"/api/", "/apis/", "/version/", "/.well-known/openid-configuration/", "/openid/v1/jwks/"}

// spelled returns a URL with the path that may be forwarded. In this path, only characters that must be encoded are
// encoded. Where kube-apiserver ignores slashes at the end of a path, several such slashes become one.
func spelled(u *url.URL) *url.URL {
	s := *u
	s.RawPath = ""
	bare := strings.TrimRight(s.Path, "/")
	counts := !slices.ContainsFunc(trimmed, func(prefix string) bool { return strings.HasPrefix(s.Path, prefix) })
	if counts || bare == "/apis" || len(s.Path)-len(bare) < 2 {
		return &s
	}
	s.Path = bare + "/"
	return &s
}

// canonicalize replaces a path that kube-apiserver accepts by the canonical path with the same meaning. For other paths
// it returns kube-apiserver's errors.
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
		err = v.checkCustomPath(info, resource)
	default:
		err = v.checkBuiltinPath(info, resource)
	}
	if err == nil {
		err = checkNames(q, resource)
	}
	if err == nil {
		canonical := *q.url
		canonical.Path = plainPath(info, resource)
		q.url = &canonical
	}
	return err
}

// unrouted returns the 404 of a path that names no resource. The 404 depends on how much of the path kube-apiserver
// routes.
func (v *resolver) unrouted(ctx context.Context, q *Request) error {
	p := q.url.Path
	if strings.HasPrefix(p, "/openapi/v3/") {
		return errNoDocument
	}
	routed := strings.HasPrefix(p, "/api/") ||
		slices.ContainsFunc(trimmed, func(prefix string) bool { return prefix != "/apis/" && strings.HasPrefix(p, prefix) })
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

// checkCustomPath returns kube-apiserver's errors for a path of a custom resource. kube-apiserver has no routes for
// these paths. It uses only the RequestInfo of a path.
func (v *resolver) checkCustomPath(info *request.RequestInfo, resource upstream.Resource) error {
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

// checkBuiltinPath returns kube-apiserver's errors for a path of a built-in resource. Routes of built-in resources have
// a fixed number of segments. A namespace or a name may be any string, even empty.
func (v *resolver) checkBuiltinPath(info *request.RequestInfo, resource upstream.Resource) error {
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

var dots = sets.New(".", "..")

// checkNames refuses "." and ".." as names and namespaces, like kube-apiserver's storage. It first returns the errors
// that kube-apiserver finds before it reads from storage.
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
	if _, err := cache.ParseRV(version); version != "" && err != nil && !resource.ReadFromEtcd() &&
		info.Verb != verbWatch {
		if info.Verb == verbList {
			return invalidVersion(version)
		}
		return &invalidRVError{text: versionMessage(version)}
	}
	return &invalidKeyError{key: keyOf(info, resource)}
}

// keyOf returns the key in etcd of an object or a collection, below kube-apiserver's prefix.
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

// etcdPrefixes has the namespaced resources whose prefix in etcd is not the name of the resource.
var etcdPrefixes = map[schema.GroupResource]string{
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "services"}:                              "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
}

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
