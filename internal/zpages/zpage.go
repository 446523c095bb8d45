package zpages

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// component is the name of the facade in the pages. kube-apiserver uses the name apiserver.
const component = "listfacade"

// Paths of the pages.
const (
	StatuszPath = "/statusz"
	FlagzPath   = "/flagz"
)

// deprecated is the version for which the response has a Warning header.
const deprecated = "v1alpha1"

// warning is the line below the first line of each text, as in other components.
const warning = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n"

// delimiters separate a name from its value. A text uses a random delimiter, which discourages programs from parsing
// it.
var delimiters = []string{":", ": ", "=", " "}

// Page is /statusz or /flagz. It is safe for concurrent use.
type Page struct {
	Name         string
	Codecs       runtime.NegotiatedSerializer
	Restrictions negotiation.EndpointRestrictions
	// Text returns the page as text. Object returns the page as one of the kinds that Restrictions allow.
	Text   func() []byte
	Object func(schema.GroupVersionKind) runtime.Object
}

// Deprecated returns the Warning header for a deprecated version; "" for other versions.
func (p *Page) Deprecated(version string) string {
	if version != deprecated {
		return ""
	}
	return fmt.Sprintf(`299 - "This version of the %s endpoint is deprecated. Please use a newer version."`, p.Name)
}

// codecs are the codecs of a scheme, without protobuf and with text.
type codecs struct {
	serializer.CodecFactory
	types []runtime.SerializerInfo
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo { return c.types }

func newCodecs(scheme *runtime.Scheme) codecs {
	text := func(runtime.ObjectCreater, runtime.ObjectTyper) runtime.SerializerInfo {
		return runtime.SerializerInfo{
			MediaType: "text/plain", MediaTypeType: "text", MediaTypeSubType: "plain", EncodesAsText: true,
			Serializer: statusText{}, PrettySerializer: statusText{},
		}
	}
	c := codecs{CodecFactory: serializer.NewCodecFactory(scheme, serializer.WithSerializer(text))}
	for _, info := range c.CodecFactory.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeProtobuf {
			c.types = append(c.types, info)
		}
	}
	return c
}
