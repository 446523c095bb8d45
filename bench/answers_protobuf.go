package main

import (
	"bytes"
	"encoding/binary"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufMagic is the prefix of every protobuf body of kube-apiserver.
const protobufMagic = "k8s\x00"

// listTag is the protobuf tag of a list's first field, its metadata.
const listTag = 1<<3 | 2

// cutProtobuf splits a protobuf list after its own metadata, and masks the version and token in the head. A body that
// is not such a list has no head, so all of it is compared.
func cutProtobuf(body []byte) (head, items []byte) {
	var whole runtime.Unknown
	if err := whole.Unmarshal(body[len(protobufMagic):]); err != nil || len(whole.Raw) == 0 || whole.Raw[0] != listTag {
		return nil, body
	}
	n, width := binary.Uvarint(whole.Raw[1:])
	if width <= 0 || n > uint64(len(whole.Raw)-1-width) {
		return nil, body
	}
	end := 1 + width + int(n)
	var own metav1.ListMeta
	if err := own.Unmarshal(whole.Raw[1+width : end]); err != nil {
		return nil, body
	}
	own.ResourceVersion = "N"
	if own.Continue != "" {
		own.Continue = "N"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s %s", whole.TypeMeta, whole.ContentType, whole.ContentEncoding, own.String())
	return b.Bytes(), whole.Raw[end:]
}
