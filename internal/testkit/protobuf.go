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

// This file reads protobuf with the API's own types and without code of the facade. An answer is an envelope: four
// bytes, then a runtime.Unknown that contains the object. A frame of a watch is a WatchEvent, whose object is an
// envelope (semantics 4.5).

var envelopeMagic = []byte("k8s\x00")

func isEnvelope(body []byte) bool { return bytes.HasPrefix(body, envelopeMagic) }

// isProtobufFrame reports whether a frame is a WatchEvent. Its first byte is the tag of the first field, a newline. No
// line of a JSON stream begins with a newline.
func isProtobufFrame(line []byte) bool { return len(line) > 0 && line[0] == '\n' }

// path contains the numbers of the fields that lead to a part of a message.
type path []protowire.Number

// Paths in the content of an envelope.
var (
	inEnvelope     = path{2}
	inFrame        = path{2, 1} // the envelope in a frame
	objectRV       = path{1, 6}
	statusMessage  = path{3}
	causesMessages = path{5, 4, 2}
)

// rewritten returns a message with other bytes at a path. It returns a malformed message, or one in an unusual
// encoding, unchanged. A comparison then finds the difference.
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

func inside(envelope []byte, at path, by func([]byte) []byte) []byte {
	if !isEnvelope(envelope) {
		return envelope
	}
	part := func(object []byte) []byte { return rewritten(object, at, by) }
	return append(bytes.Clone(envelopeMagic), rewritten(envelope[len(envelopeMagic):], inEnvelope, part)...)
}

// partOf returns the bytes at a path in an envelope; of several matches, the last.
func partOf(envelope []byte, at path) []byte {
	var found []byte
	inside(envelope, at, func(part []byte) []byte {
		found = part
		return part
	})
	return found
}

// kindOf returns the kind of an envelope, or an empty string if it is malformed.
func kindOf(envelope []byte) string {
	var unknown runtime.Unknown
	if !isEnvelope(envelope) || unknown.Unmarshal(envelope[len(envelopeMagic):]) != nil {
		return ""
	}
	return unknown.Kind
}

const (
	listRV    protowire.Number = 2
	listToken protowire.Number = 3
)

// inListMeta returns the path of a field of a list's metadata. The metadata is the first field of every list except one
// (metav1beta1.PartialObjectMetadataList).
func inListMeta(envelope []byte, field protowire.Number) path {
	var unknown runtime.Unknown
	if isEnvelope(envelope) && unknown.Unmarshal(envelope[len(envelopeMagic):]) == nil &&
		unknown.APIVersion == "meta.k8s.io/v1beta1" {
		return path{2, field}
	}
	return path{1, field}
}

func isListEnvelope(body []byte) bool { return strings.HasSuffix(kindOf(body), "List") }

// inTexts changes the text of an answer: the complete body, or the messages of a Status in protobuf.
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

// decoded returns an envelope's object as kube-apiserver's JSON. It supports kinds of client-go, and partial metadata.
func decoded(envelope []byte) ([]byte, error) {
	var unknown runtime.Unknown
	if !isEnvelope(envelope) {
		return nil, fmt.Errorf("not a protobuf envelope: %.20q", envelope)
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
		return nil, fmt.Errorf("%s has no protobuf encoding", gvk)
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
	return nil, fmt.Errorf("unknown kind: %s", gvk)
}

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
