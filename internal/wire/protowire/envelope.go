package protowire

import "bytes"

// magic begins every body, and every object in a frame.
var magic = []byte("k8s\x00")

// The fields of runtime.Unknown, and of its type meta.
const (
	unknownTypeMeta        int32 = 1
	unknownRaw             int32 = 2
	unknownContentEncoding int32 = 3

	typeAPIVersion int32 = 1
	typeKind       int32 = 2
)

// envelope is one kind's: what stands before the length of its message. What stands behind the message is always the
// same.
type envelope []byte

// envelopeTail is the content's encoding and type, both empty.
const envelopeTail = "\x1a\x00\x22\x00"

func newEnvelope(apiVersion, kind string) envelope {
	meta := appendField(appendField(nil, typeAPIVersion, apiVersion), typeKind, kind)
	return appendField(bytes.Clone(magic), unknownTypeMeta, meta)
}

// len is how long the envelope and a message of so many bytes are.
func (e envelope) len(message int) int {
	return len(e) + fieldLen(unknownRaw, message) + len(envelopeTail)
}

// appendHead appends what stands before a message of so many bytes.
func (e envelope) appendHead(dst []byte, message int) []byte {
	return appendHead(append(dst, e...), unknownRaw, message)
}

// open returns the message in an envelope of this kind.
func (e envelope) open(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, e) {
		got, _, err := unwrap(body)
		if err != nil {
			return nil, err
		}
		return nil, malformed("%.80q where %.80q should be", got, []byte(e))
	}
	_, message, err := unwrap(body)
	return message, err
}

// unwrap takes an envelope of any kind off: it returns what stands before the message, and the message.
func unwrap(body []byte) (head envelope, message []byte, err error) {
	if !bytes.HasPrefix(body, magic) {
		return nil, nil, malformed("no envelope")
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
				return nil, nil, malformed("an envelope around something else than one message")
			}
			head, found = body[:f.tag], true
		case unknownContentEncoding:
			if f.end > f.start {
				return nil, nil, malformed("an encoded message")
			}
		}
	}
	if !found {
		return nil, nil, malformed("an empty envelope")
	}
	return head, message, nil
}
