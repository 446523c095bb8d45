package upstream

import (
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

const (
	// mediaForeign replaces an Accept header that contains none of a document's media types. The response is 406.
	mediaForeign = "text/none"
	// mediaNothing replaces an Accept header without any media type. The response of OpenAPI v3 then has no body.
	mediaNothing = "none"
	// mediaAny replaces an Accept header that accepts JSON, but in a spelling that go-restful does not recognize.
	// go-restful serves most, but not all discovery documents for such a header.
	mediaAny = "application/*"
	// noPeer is the profile of aggregated discovery without the resources that only other kube-apiservers of the
	// cluster serve.
	noPeer = "nopeer"
)

var discoveryMedia = serializer.NewCodecFactory(runtime.NewScheme()).SupportedMediaTypes()

// openAPIMedia are the media types of OpenAPI, which has two spellings of its protobuf type
// (k8s.io/kube-openapi/pkg/handler and handler3).
var openAPIMedia = map[string][]string{
	"v2": {MediaJSON, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
		"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"},
	"v3": {MediaJSON, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
		"application/com.github.proto-openapi.spec.v3@v1.0+protobuf"},
}

// accepted is the Accept header that replaces a client's Accept header. Every supported kube-apiserver sends the same
// response for both headers.
type accepted struct {
	header string
	pretty bool
}

// documentAccept reduces an Accept header to the media type that kube-apiserver chooses for the document. certain is
// false if the choice depends on the upstream's release.
func documentAccept(path, header string) (a accepted, certain bool) {
	switch {
	case header == "":
		return accepted{header: MediaJSON}, true // kube-apiserver prefers JSON for each document
	case strings.HasPrefix(path, "/version"):
		return accepted{header: pick(namesExactly(header, MediaJSON), MediaJSON, mediaForeign)}, true
	}
	clauses := goautoneg.ParseAccept(header)
	switch {
	case len(clauses) == 0:
		return accepted{header: mediaNothing}, true
	case strings.HasPrefix(path, "/openapi/v2"):
		return accepted{header: openAPIAccept(clauses, openAPIMedia["v2"])}, true
	case strings.HasPrefix(path, "/openapi/"):
		return accepted{header: openAPIAccept(clauses, openAPIMedia["v3"])}, true
	}
	return discoveryAccept(path, header)
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// namesExactly reports whether go-restful finds one of the media types in a header. go-restful compares names and
// ignores parameters.
func namesExactly(header string, names ...string) bool {
	for clause := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(clause, ";")
		if name = strings.TrimSpace(name); name == "*/*" || slices.Contains(names, name) {
			return true
		}
	}
	return false
}

func openAPIAccept(clauses []goautoneg.Accept, offered []string) string {
	for _, one := range clauses {
		for _, media := range offered {
			kind, subtype, _ := strings.Cut(media, "/")
			if (one.Type == kind || one.Type == "*") && (one.SubType == subtype || one.SubType == "*") {
				return media
			}
		}
	}
	return mediaForeign
}

// discoveryAccept returns the media type that kube-apiserver chooses for discovery. kube-apiserver chooses aggregated
// discovery if the client accepts it and the document exists in this form. The versions of aggregated discovery depend
// on the release, so the versions are requested in the client's order.
func discoveryAccept(path, header string) (a accepted, certain bool) {
	plain, versions := negotiated(header, nil), aggregatedIn(path, header)
	exact := namesExactly(header, "application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
	switch {
	case strings.Contains(header, "cbor"): // only some releases support CBOR
		return accepted{}, false
	case len(versions) > 0:
		return aggregatedAccept(versions, plain, exact)
	case plain == nil:
		return accepted{header: mediaForeign}, true
	case exact:
		return accepted{header: plain.Accepted.MediaType, pretty: plain.Pretty}, true
	default:
		return accepted{header: mediaAny, pretty: plain.Pretty}, plain.Accepted.MediaType == MediaJSON
	}
}

// aggregatedAccept returns a header that accepts the versions of aggregated discovery, and plain discovery from servers
// without these versions. certain is true only for common headers: all versions have the same media type, and the
// alternative is JSON.
func aggregatedAccept(versions []*negotiation.MediaTypeOptions, plain *negotiation.MediaTypeOptions,
	exact bool) (a accepted, certain bool) {
	first := versions[0]
	var all []string
	for _, v := range versions {
		if v.Accepted.MediaType != first.Accepted.MediaType || v.Pretty != first.Pretty || v.Profile != "" &&
			v.Profile != noPeer {
			return accepted{}, false
		}
		clause := v.Accepted.MediaType + ";g=" + v.Convert.Group + ";v=" + v.Convert.Version + ";as=" + v.Convert.Kind
		if v.Profile != "" {
			clause += ";profile=" + v.Profile
		}
		all = append(all, clause)
	}
	if plain != nil {
		all = append(all, MediaJSON)
	}
	certain = exact && (plain == nil || plain.Accepted.MediaType == MediaJSON && plain.Pretty == first.Pretty)
	return accepted{header: strings.Join(all, ","), pretty: first.Pretty}, certain
}

// aggregatedIn returns the versions of aggregated discovery that a client accepts, in the client's order. A server
// without the first version chooses the second.
func aggregatedIn(path, header string) []*negotiation.MediaTypeOptions {
	if name := strings.Trim(path, "/"); name != "api" && name != "apis" {
		return nil
	}
	first := negotiated(header, []string{"v2", "v2beta1"})
	if first == nil {
		return nil
	}
	second := negotiated(header, []string{pick(first.Convert.Version == "v2", "v2beta1", "v2")})
	if second == nil {
		return []*negotiation.MediaTypeOptions{first}
	}
	return []*negotiation.MediaTypeOptions{first, second}
}

// negotiated returns the media type that a server chooses if it has the given versions of aggregated discovery; no
// versions mean plain discovery. It returns nil when the client accepts none of the server's media types.
func negotiated(header string, versions []string) *negotiation.MediaTypeOptions {
	options, ok := negotiation.NegotiateMediaTypeOptions(header, discoveryMedia, discoveryVersions(versions))
	if !ok {
		return nil
	}
	return &options
}

// discoveryVersions are the versions of aggregated discovery that a server has; nil means plain discovery. The type
// implements negotiation.EndpointRestrictions.
type discoveryVersions []string

func (f discoveryVersions) AllowsMediaTypeTransform(_, _ string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return f == nil
	}
	return target.Group == "apidiscovery.k8s.io" && target.Kind == "APIGroupDiscoveryList" &&
		slices.Contains(f, target.Version)
}

func (discoveryVersions) AllowsServerVersion(string) bool { return false }

func (discoveryVersions) AllowsStreamSchema(s string) bool { return s == "watch" }
