package handlers

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// transform is what becomes of an object before it is sent.
type transform int

const (
	asIs transform = iota
	asTable
	asPartial     // PartialObjectMetadata, of single objects and in watches
	asPartialList // PartialObjectMetadataList, of lists
)

// media is the form of an answer that the cache can give: protobuf, or JSON and what can be made of it. Every other
// form is the upstream's to give.
type media struct {
	protobuf  bool
	yaml      bool
	transform transform
	meta      wire.MetaVersion // of meta.k8s.io, for a transformed answer
	include   wire.Include     // of a Table
	pretty    bool
}

// encoding is that of the lane which answers.
func (m media) encoding() wire.Encoding {
	if m.protobuf {
		return protowire.Encoding{}
	}
	return jsonwire.Encoding{}
}

// form is the form of the objects in an answer; what stays as it is has the plain one.
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

// offers says which media types and transformations a resource has; it is what kube-apiserver negotiates with.
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

// negotiate finds the form that kube-apiserver would answer in; ok is false when it is none of the cache's, or none at
// all.
func negotiate(r *http.Request, verb string, custom bool) (m media, ok bool) {
	accept := r.Header.Get("Accept")
	if hasWildcard(accept) {
		return media{}, false
	}
	options, ok := negotiation.NegotiateMediaTypeOptions(accept, codecs.SupportedMediaTypes(), offers{custom: custom})
	if !ok {
		return media{}, false
	}
	switch options.Accepted.MediaType {
	case runtime.ContentTypeJSON:
	case runtime.ContentTypeYAML:
		if verb == verbWatch {
			return media{}, false
		}
		m.yaml = true
	case runtime.ContentTypeProtobuf:
		if custom { // its metadata alone has protobuf, which the upstream makes
			return media{}, false
		}
		m.protobuf = true
	default:
		return media{}, false
	}
	if verb != verbWatch && !m.yaml && !m.protobuf {
		_, info, err := negotiation.NegotiateOutputMediaType(r, codecs, offers{custom: custom})
		if err != nil {
			return media{}, false
		}
		m.pretty = info.Serializer == info.PrettySerializer
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

// hasWildcard tells whether a clause is "*" or "application/*". Built-in routes compare whole media types first and
// refuse these (semantics 6.2); custom resources do not.
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
