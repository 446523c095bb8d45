package transcode

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// magic is the start of a body in protobuf. An envelope follows: a runtime.Unknown.
var magic = []byte("k8s\x00")

// Field numbers of runtime.Unknown, its TypeMeta, and the metadata of all objects.
const (
	unknownTypeMeta int32 = 1
	unknownRaw      int32 = 2

	typeAPIVersion int32 = 1
	typeKind       int32 = 2

	objectMetadata int32 = 1
)

const metadataType = "apis/meta/v1.ObjectMeta"

// Body appends the JSON of the object in a protobuf body: an envelope with the kind and the message of the object.
func Body(dst, body []byte) ([]byte, error) {
	kind, message, err := unwrap(body)
	if err != nil {
		return nil, err
	}
	return JSON(dst, kind, message)
}

// BodyMetadata is like Body, but only appends kind, apiVersion and metadata. It supports all kinds of objects.
func BodyMetadata(dst, body []byte) ([]byte, error) {
	kind, raw, err := unwrap(body)
	if err != nil {
		return nil, err
	}
	only := &message{fields: []field{{
		name: "metadata", number: objectMetadata, of: nested, nested: parsed().messages[metadataType],
	}}}
	return appendObject(dst, kind, only, raw)
}

func unwrap(body []byte) (kind schema.GroupVersionKind, message []byte, err error) {
	envelope, ok := bytes.CutPrefix(body, magic)
	if !ok {
		return kind, nil, fmt.Errorf("body does not begin with the envelope of an object: %w", ErrMalformed)
	}
	of, _, err := member(envelope, unknownTypeMeta)
	if err != nil {
		return kind, nil, err
	}
	apiVersion, _, err := member(of.bytes, typeAPIVersion)
	if err != nil {
		return kind, nil, err
	}
	name, _, err := member(of.bytes, typeKind)
	if err != nil {
		return kind, nil, err
	}
	raw, _, err := member(envelope, unknownRaw)
	return schema.FromAPIVersionAndKind(string(apiVersion.bytes), string(name.bytes)), raw.bytes, err
}
