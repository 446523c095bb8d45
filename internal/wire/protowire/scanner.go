package protowire

import "google.golang.org/protobuf/encoding/protowire"

// scanner walks over the fields of one message.
type scanner struct {
	data []byte
	pos  int
}

// field is one field of a message, by its place in the message's bytes.
type field struct {
	number     int32
	wireType   protowire.Type
	tag        int // where the field begins
	start, end int // its value: of bytes, what is behind their length
	varint     uint64
}

// more tells whether there is another field.
func (s *scanner) more() bool { return s.pos < len(s.data) }

// next reads a field.
func (s *scanner) next() (field, error) {
	f := field{tag: s.pos}
	number, wireType, n := protowire.ConsumeTag(s.data[s.pos:])
	if n < 0 {
		return f, malformed("a tag: %v", protowire.ParseError(n))
	}
	f.number, f.wireType = int32(number), wireType
	s.pos += n
	f.start = s.pos
	switch wireType {
	case protowire.BytesType:
		var value []byte
		if value, n = protowire.ConsumeBytes(s.data[s.pos:]); n >= 0 {
			f.start += n - len(value)
		}
	case protowire.VarintType:
		f.varint, n = protowire.ConsumeVarint(s.data[s.pos:])
	default:
		n = protowire.ConsumeFieldValue(number, wireType, s.data[s.pos:])
	}
	if n < 0 {
		return f, malformed("field %d: %v", number, protowire.ParseError(n))
	}
	s.pos += n
	f.end = s.pos
	return f, nil
}

// bytes is the value of a field that has to be text or a message.
func (s *scanner) bytes(f field) ([]byte, error) {
	if f.wireType != protowire.BytesType {
		return nil, malformed("field %d is no text and no message", f.number)
	}
	return s.data[f.start:f.end], nil
}

// isPlain tells whether a field of bytes is written in the shortest way, so that where its value begins says where the
// field does.
func (f field) isPlain() bool {
	return f.wireType == protowire.BytesType && f.start-f.tag == headLen(f.number, f.end-f.start)
}

// headLen is how long the head of a field of so many bytes is.
func headLen(number int32, bytes int) int {
	return protowire.SizeTag(protowire.Number(number)) + protowire.SizeVarint(uint64(bytes))
}

// fieldLen is how long a field of so many bytes is.
func fieldLen(number int32, bytes int) int { return headLen(number, bytes) + bytes }

// appendHead begins a field of so many bytes.
func appendHead(dst []byte, number int32, bytes int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, protowire.Number(number), protowire.BytesType), uint64(bytes))
}

// appendField appends a field of bytes.
func appendField[T string | []byte](dst []byte, number int32, value T) []byte {
	return append(appendHead(dst, number, len(value)), value...)
}
