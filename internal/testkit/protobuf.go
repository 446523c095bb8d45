package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Protobuf is read here with the API's own types and without any code of the facade's. An answer is an envelope: four
// bytes, then a runtime.Unknown with the object in it. A frame of a watch is a WatchEvent, whose object is an envelope
// (semantics 4.5).

var envelopeMagic = []byte("k8s\x00")

func isEnvelope(body []byte) bool { return bytes.HasPrefix(body, envelopeMagic) }

// isProtobufFrame tells a WatchEvent by its first field's tag, which no line of a JSON stream begins with.
func isProtobufFrame(line []byte) bool { return len(line) > 0 && line[0] == '\n' }

// path is the numbers of the fields that lead to a part of a message.
type path []protowire.Number

// Where things are in what stands in an envelope.
var (
	inEnvelope     = path{2}
	inFrame        = path{2, 1} // the envelope
	objectRV       = path{1, 6}
	statusMessage  = path{3}
	causesMessages = path{5, 4, 2}
)

// rewritten is a message with other bytes at a path and all else as it stands. What is no message, or is written in
// another way than everybody writes it, stays as it is, for a comparison to find.
func rewritten(message []byte, at path, by func([]byte) []byte) []byte {
	var out []byte
	for rest := message; len(rest) > 0; {
		number, kind, tag := protowire.ConsumeTag(rest)
		if tag < 0 {
			return message
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[tag:])
		if size < 0 {
			return message
		}
		field := rest[:tag+size]
		rest = rest[tag+size:]
		if number != at[0] || kind != protowire.BytesType {
			out = append(out, field...)
			continue
		}
		content, _ := protowire.ConsumeBytes(field[tag:])
		if !bytes.Equal(protowire.AppendBytes(nil, content), field[tag:]) {
			return message
		}
		if len(at) > 1 {
			content = rewritten(content, at[1:], by)
		} else {
			content = by(content)
		}
		out = protowire.AppendBytes(append(out, field[:tag]...), content)
	}
	return out
}

// inside rewrites a part of what stands in an envelope.
func inside(envelope []byte, at path, by func([]byte) []byte) []byte {
	if !isEnvelope(envelope) {
		return envelope
	}
	part := func(object []byte) []byte { return rewritten(object, at, by) }
	return append(bytes.Clone(envelopeMagic), rewritten(envelope[len(envelopeMagic):], inEnvelope, part)...)
}

// partOf is what stands at a path in an envelope; the last, if there are several.
func partOf(envelope []byte, at path) []byte {
	var found []byte
	inside(envelope, at, func(part []byte) []byte {
		found = part
		return part
	})
	return found
}

// kindOf is the kind that an envelope names; empty when it cannot be read.
func kindOf(envelope []byte) string {
	var unknown runtime.Unknown
	if !isEnvelope(envelope) || unknown.Unmarshal(envelope[len(envelopeMagic):]) != nil {
		return ""
	}
	return unknown.Kind
}

// The fields of a ListMeta.
const (
	listRV    protowire.Number = 2
	listToken protowire.Number = 3
)

// inListMeta is where a list's metadata has a field. It is the list's first, except for one list whose items come first
// (metav1beta1.PartialObjectMetadataList).
func inListMeta(envelope []byte, field protowire.Number) path {
	var unknown runtime.Unknown
	if isEnvelope(envelope) && unknown.Unmarshal(envelope[len(envelopeMagic):]) == nil && unknown.APIVersion == "meta.k8s.io/v1beta1" {
		return path{2, field}
	}
	return path{1, field}
}

// isListEnvelope tells of a list.
func isListEnvelope(body []byte) bool { return strings.HasSuffix(kindOf(body), "List") }

// inTexts changes what an answer says in words: all of it, or the messages of a Status in protobuf.
func inTexts(body []byte, by func([]byte) []byte) []byte {
	switch {
	case isProtobufFrame(body):
		return rewritten(body, inFrame, func(envelope []byte) []byte { return inTexts(envelope, by) })
	case !isEnvelope(body):
		return by(body)
	case kindOf(body) == "Status":
		return inside(inside(body, statusMessage, by), causesMessages, by)
	}
	return body
}

// decoded is an envelope's object in JSON, as kube-apiserver would write it, and in nothing but kinds that client-go
// knows.
func decoded(envelope []byte) ([]byte, error) {
	var unknown runtime.Unknown
	if !isEnvelope(envelope) {
		return nil, fmt.Errorf("no protobuf: %.20q", envelope)
	}
	if err := unknown.Unmarshal(envelope[len(envelopeMagic):]); err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind)
	object, err := newOf(gvk)
	if err != nil {
		return nil, err
	}
	message, ok := object.(interface{ Unmarshal(data []byte) error })
	if !ok {
		return nil, fmt.Errorf("%s has no protobuf", gvk)
	}
	if err := message.Unmarshal(unknown.Raw); err != nil {
		return nil, fmt.Errorf("%s: %w", gvk, err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(object)
}

func newOf(gvk schema.GroupVersionKind) (runtime.Object, error) {
	switch {
	case gvk.Group != metav1.GroupName:
		return scheme.Scheme.New(gvk)
	case gvk.Kind == "PartialObjectMetadata":
		return &metav1.PartialObjectMetadata{}, nil
	case gvk.Kind == "PartialObjectMetadataList":
		return &metav1.PartialObjectMetadataList{}, nil
	}
	return nil, fmt.Errorf("no kind of protobuf: %s", gvk)
}

// decodedFrame is a WatchEvent as a line of a JSON stream.
func decodedFrame(frame []byte) ([]byte, error) {
	var event metav1.WatchEvent
	if err := event.Unmarshal(frame); err != nil {
		return nil, err
	}
	object, err := decoded(event.Object.Raw)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`, event.Type, object), nil
}
