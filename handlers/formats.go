package handlers

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// formats contains the media types that the cache offers: those of the encodings, and YAML. It is a
// runtime.NegotiatedSerializer, so that kube-apiserver's code can negotiate them. It is immutable.
type formats struct {
	serializer.CodecFactory
	encodings []wire.Encoding // Config.Encodings
	offers    func(upstream.Resource, wire.Encoding) bool
	infos     []runtime.SerializerInfo
}

// newFormats returns the formats of the encodings. kube-apiserver's media types come first, in kube-apiserver's order,
// because the first one is chosen for "*/*".
func newFormats(encodings []wire.Encoding, offers func(upstream.Resource, wire.Encoding) bool) *formats {
	f := &formats{CodecFactory: codecs, encodings: encodings, offers: offers, infos: codecs.SupportedMediaTypes()}
	for _, e := range encodings {
		if _, ok := runtime.SerializerInfoForMediaType(f.infos, e.MediaType()); ok {
			continue
		}
		major, minor, _ := strings.Cut(e.MediaType(), "/")
		f.infos = append(f.infos[:len(f.infos):len(f.infos)],
			runtime.SerializerInfo{MediaType: e.MediaType(), MediaTypeType: major, MediaTypeSubType: minor})
	}
	return f
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (f *formats) SupportedMediaTypes() []runtime.SerializerInfo { return f.infos }

// find returns the encoding of the lane that serves a resource in a media type, and the conversion from that encoding
// to the media type. ok is false if no lane serves the resource in this media type.
func (f *formats) find(mediaType string, resource upstream.Resource) (e wire.Encoding, c conversion, ok bool) {
	for i, e := range f.encodings {
		switch {
		case i == 0 && mediaType == runtime.ContentTypeYAML:
			return e, inYAML, true
		case e.MediaType() == mediaType:
			return e, unconverted, i == 0 || f.offers(resource, e)
		}
	}
	return nil, unconverted, false
}

func (f *formats) framing(contentType string) wire.Framing {
	for _, e := range f.encodings {
		if strings.HasPrefix(contentType, e.MediaType()) {
			return e.Framing()
		}
	}
	return wire.Lines{}
}
