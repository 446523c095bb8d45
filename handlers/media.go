package handlers

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// transform is the part of an object that a response contains: the object, a Table row, or only its metadata.
type transform int

const (
	asIs transform = iota
	asTable
	asPartial     // PartialObjectMetadata, for single objects and in watches
	asPartialList // PartialObjectMetadataList, for lists
)

// conversion says how a body in the lane's encoding is changed before it is sent.
type conversion int

const (
	unconverted conversion = iota
	indented               // JSON with line breaks and indentation
	inYAML
)

// media is a representation that the cache offers. Requests for other representations are forwarded.
type media struct {
	encoding   wire.Encoding // of the lane to read
	conversion conversion
	transform  transform
	meta       wire.MetaVersion // version of meta.k8s.io, if transformed
	include    wire.Include     // includeObject of a Table
}

// representation returns the representation of objects in a response. Its kind is plain if there is no transformation.
func (m media) representation(plain wire.RepresentationKind) wire.Representation {
	switch m.transform {
	case asTable:
		return wire.Representation{Kind: wire.Row, Meta: m.meta, Include: m.include}
	case asPartial, asPartialList:
		return wire.Representation{Kind: wire.Partial, Meta: m.meta}
	default:
		return wire.Representation{Kind: plain}
	}
}

// offers tells kube-apiserver's negotiation which media types and transformations it may choose for a resource.
type offers struct{ custom bool }

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions (semantics 6.1).
func (o offers) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return !o.custom || mimeSubType != "vnd.kubernetes.protobuf"
	}
	if gv := target.GroupVersion(); gv != metav1.SchemeGroupVersion && gv != metav1beta1.SchemeGroupVersion {
		return false
	}
	switch target.Kind {
	case "Table":
		return mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

// AllowsServerVersion implements negotiation.EndpointRestrictions.
func (offers) AllowsServerVersion(version string) bool { return version == "v1" }

// AllowsStreamSchema implements negotiation.EndpointRestrictions.
func (offers) AllowsStreamSchema(s string) bool { return s == "watch" }

// negotiate returns the representation that kube-apiserver would choose for a response. ok is false if the cache does
// not offer it, or if kube-apiserver would refuse the request.
func (f *formats) negotiate(r *http.Request, verb string, resource upstream.Resource) (m media, ok bool) {
	if hasWildcard(r.Header.Get("Accept")) {
		return media{}, false
	}
	options, info, err := negotiation.NegotiateOutputMediaType(r, f, offers{custom: resource.Custom})
	if err != nil {
		return media{}, false
	}
	m.encoding, m.conversion, ok = f.find(info.MediaType, resource)
	switch {
	case !ok, verb == verbWatch && m.conversion == inYAML:
		return media{}, false
	case verb != verbWatch && info.PrettySerializer != nil && info.Serializer == info.PrettySerializer:
		m.conversion = indented
	}
	if options.Convert == nil {
		return m, true
	}
	m.meta = wire.MetaV1
	if options.Convert.Version == "v1beta1" {
		m.meta = wire.MetaV1Beta1
	}
	switch options.Convert.Kind {
	case "Table":
		m.transform = asTable
		m.include, ok = includeOf(r.URL.Query().Get("includeObject"))
		return m, ok
	case "PartialObjectMetadata":
		m.transform = asPartial
		return m, verb != verbList
	default:
		m.transform = asPartialList
		return m, verb == verbList
	}
}

// hasWildcard reports whether the header contains "*" or "application/*". kube-apiserver refuses these types for
// built-in resources, because its routes compare complete media types (semantics 6.2). It accepts them for custom
// resources.
func hasWildcard(accept string) bool {
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, _, _ := strings.Cut(clause, ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*" || mediaType == "application/*" {
			return true
		}
	}
	return false
}

func includeOf(s string) (wire.Include, bool) {
	switch metav1.IncludeObjectPolicy(s) {
	case metav1.IncludeNone:
		return wire.IncludeNone, true
	case metav1.IncludeObject:
		return wire.IncludeObject, true
	case metav1.IncludeMetadata, "":
		return wire.IncludeMetadata, true
	}
	return 0, false
}
