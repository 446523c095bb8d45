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
	// mediaForeign stands for all headers that name nothing a document has: 406.
	mediaForeign = "text/none"
	// mediaNothing stands for all headers that name nothing at all, which OpenAPI v3 answers without a body.
	mediaNothing = "none"
	// mediaAny stands for all headers that leave the choice to the server in words that go-restful does not know. It
	// routes most of discovery, but not all.
	mediaAny = "application/*"
	// noPeer is the profile of aggregated discovery that leaves out what other servers of the cluster have.
	noPeer = "nopeer"
)

// discoveryMedia are the media types that discovery has in every release.
var discoveryMedia = serializer.NewCodecFactory(runtime.NewScheme()).SupportedMediaTypes()

// openAPIMedia are those of OpenAPI, which takes two spellings of its protobuf (k8s.io/kube-openapi/pkg/handler and
// handler3).
var openAPIMedia = map[string][]string{
	"v2": {MediaJSON, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"},
	"v3": {MediaJSON, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"},
}

// accepted is what is sent instead of a client's Accept, and has the same answer by every kube-apiserver that the
// facade stands in front of.
type accepted struct {
	header string
	pretty bool
}

// documentAccept reduces an Accept header to what a document's own negotiation makes of it. It is not certain where
// that depends on the upstream.
func documentAccept(path, header string) (a accepted, certain bool) {
	switch {
	case header == "":
		return accepted{header: MediaJSON}, true // first of all media types, wherever some are negotiated
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

// namesExactly tells whether go-restful finds a media type in a header: by its name, whatever its parameters are.
func namesExactly(header string, names ...string) bool {
	for clause := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(clause, ";")
		if name = strings.TrimSpace(name); name == "*/*" || slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// openAPIAccept is the media type that OpenAPI has of those that a client takes. It looks at no parameters.
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

// discoveryAccept asks for the media type that kube-apiserver's own library chooses, and before that for aggregated
// discovery, where a client wants that and the document has it. Which versions of aggregated discovery there are
// depends on the release, so that they are asked for in the client's order.
func discoveryAccept(path, header string) (a accepted, certain bool) {
	plain, versions := negotiated(header, nil), aggregatedIn(path, header)
	exact := namesExactly(header, "application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
	switch {
	case strings.Contains(header, "cbor"): // which some servers have
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

// aggregatedAccept asks for versions of aggregated discovery, and for plain discovery where a server has none of them.
// Only what clients ask for is certain: the same media type of all, or JSON where there is no other.
func aggregatedAccept(versions []*negotiation.MediaTypeOptions, plain *negotiation.MediaTypeOptions, exact bool) (a accepted, certain bool) {
	first := versions[0]
	var all []string
	for _, v := range versions {
		if v.Accepted.MediaType != first.Accepted.MediaType || v.Pretty != first.Pretty || v.Profile != "" && v.Profile != noPeer {
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

// aggregatedIn are the versions of aggregated discovery that a client takes, in its order: the one that a server of all
// versions chooses, and then the one that a server without that chooses.
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

// negotiated is what a server chooses that has these versions of aggregated discovery; of none, one that has no other
// form than the plain one. It is nil when the server has nothing that the client takes.
func negotiated(header string, versions []string) *negotiation.MediaTypeOptions {
	options, ok := negotiation.NegotiateMediaTypeOptions(header, discoveryMedia, discoveryVersions(versions))
	if !ok {
		return nil
	}
	return &options
}

// discoveryVersions are the versions of aggregated discovery that a server has; nil is plain discovery.
type discoveryVersions []string

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions.
func (f discoveryVersions) AllowsMediaTypeTransform(_, _ string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return f == nil
	}
	return target.Group == "apidiscovery.k8s.io" && target.Kind == "APIGroupDiscoveryList" && slices.Contains(f, target.Version)
}

// AllowsServerVersion implements negotiation.EndpointRestrictions.
func (discoveryVersions) AllowsServerVersion(string) bool { return false }

// AllowsStreamSchema implements negotiation.EndpointRestrictions.
func (discoveryVersions) AllowsStreamSchema(s string) bool { return s == "watch" }
