package protowire

import "bytes"

// magic is the start of every body, and of every object in a frame.
var magic = []byte("k8s\x00")

// Field numbers of runtime.Unknown and of its type meta.
const (
	unknownTypeMeta        int32 = 1
	unknownRaw             int32 = 2
	unknownContentEncoding int32 = 3

	typeAPIVersion int32 = 1
	typeKind       int32 = 2
)

// envelope contains the bytes of one kind's envelope before the field of the message. The bytes after the message are
// the same for all kinds (envelopeTail).
type envelope []byte

// envelopeTail contains the fields after the message: an empty content encoding and an empty content type.
const envelopeTail = "\x1a\x00\x22\x00"

func newEnvelope(apiVersion, kind string) envelope {
	meta := appendField(appendField(nil, typeAPIVersion, apiVersion), typeKind, kind)
	return appendField(bytes.Clone(magic), unknownTypeMeta, meta)
}

func (e envelope) len(message int) int {
	return len(e) + fieldLen(unknownRaw, message) + len(envelopeTail)
}

// appendHead appends the bytes before a message of the given length.
func (e envelope) appendHead(dst []byte, message int) []byte {
	return appendHead(append(dst, e...), unknownRaw, message)
}

func (e envelope) open(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, e) {
		got, _, err := unwrap(body)
		if err != nil {
			return nil, err
		}
		return nil, malformed("envelope is %.80q, want %.80q", got, []byte(e))
	}
	_, message, err := unwrap(body)
	return message, err
}

// unwrap opens an envelope of any kind. It returns the bytes before the field of the message, and the message.
func unwrap(body []byte) (head envelope, message []byte, err error) {
	if !bytes.HasPrefix(body, magic) {
		return nil, nil, malformed("body does not begin with the envelope of a Kubernetes object")
	}
	s := scanner{data: body, pos: len(magic)}
	found := false
	for s.more() {
		f, err := s.next()
		if err != nil {
			return nil, nil, err
		}
		switch f.number {
		case unknownRaw:
			if message, err = s.bytes(f); err != nil || found {
				return nil, nil, malformed("envelope does not contain exactly one message")
			}
			head, found = body[:f.tag], true
		case unknownContentEncoding:
			if f.end > f.start {
				return nil, nil, malformed("envelope has a content encoding, want none")
			}
		}
	}
	if !found {
		return nil, nil, malformed("envelope without a message")
	}
	return head, message, nil
}
