package zpages

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// component is what the facade calls itself, as kube-apiserver calls itself apiserver.
const component = "listfacade"

// The paths.
const (
	StatuszPath = "/statusz"
	FlagzPath   = "/flagz"
)

// deprecated is the version that clients are told to leave.
const deprecated = "v1alpha1"

// warning stands below the first line of each text, word for word as in other components.
const warning = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n"

// delimiters stand between a name and its value. One is drawn for each text, so that nobody parses it.
var delimiters = []string{":", ": ", "=", " "}

// Page is one of the two. Safe for concurrent use.
type Page struct {
	// Name is statusz or flagz.
	Name         string
	Codecs       runtime.NegotiatedSerializer
	Restrictions negotiation.EndpointRestrictions
	// Text is the answer for people, and Object that of one of the kinds that Restrictions allow.
	Text   func() []byte
	Object func(schema.GroupVersionKind) runtime.Object
}

// Deprecated is what a client is told that asks for a version that is to go; empty for another.
func (p *Page) Deprecated(version string) string {
	if version != deprecated {
		return ""
	}
	return fmt.Sprintf(`299 - "This version of the %s endpoint is deprecated. Please use a newer version."`, p.Name)
}

// codecs are those of a scheme, without protobuf and with text.
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
