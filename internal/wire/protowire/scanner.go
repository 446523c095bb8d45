package protowire

import "google.golang.org/protobuf/encoding/protowire"

type scanner struct {
	data []byte
	pos  int
}

// field is one field of a message. Positions are in the bytes of the message.
type field struct {
	number     int32
	wireType   protowire.Type
	tag        int // start of the field
	start, end int // value of the field, without a length prefix
	varint     uint64
}

func (s *scanner) more() bool { return s.pos < len(s.data) }

func (s *scanner) next() (field, error) {
	f := field{tag: s.pos}
	number, wireType, n := protowire.ConsumeTag(s.data[s.pos:])
	if n < 0 {
		return f, malformed("read tag: %v", protowire.ParseError(n))
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
		return f, malformed("read field %d: %v", number, protowire.ParseError(n))
	}
	s.pos += n
	f.end = s.pos
	return f, nil
}

func (s *scanner) bytes(f field) ([]byte, error) {
	if f.wireType != protowire.BytesType {
		return nil, malformed("field %d is neither a string nor a message", f.number)
	}
	return s.data[f.start:f.end], nil
}

// isPlain reports whether a field is bytes in shortest encoding. Only then, the start of the field can be computed from
// the start of its value.
func (f field) isPlain() bool {
	return f.wireType == protowire.BytesType && f.start-f.tag == headLen(f.number, f.end-f.start)
}

// headLen returns the length of the head of a field (tag and length prefix), for a value of the given length.
func headLen(number int32, bytes int) int {
	return protowire.SizeTag(protowire.Number(number)) + protowire.SizeVarint(uint64(bytes))
}

func fieldLen(number int32, bytes int) int { return headLen(number, bytes) + bytes }

func appendHead(dst []byte, number int32, bytes int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, protowire.Number(number), protowire.BytesType), uint64(bytes))
}

func appendField[T string | []byte](dst []byte, number int32, value T) []byte {
	return append(appendHead(dst, number, len(value)), value...)
}
