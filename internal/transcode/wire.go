package transcode

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// value is one occurrence of a field in a message: a number, or bytes.
type value struct {
	number int32
	length bool // whether the value is in bytes; otherwise it is in varint
	varint uint64
	bytes  []byte
}

// values splits a message into the occurrences of its fields, in their order. It skips wire types that Kubernetes does
// not use.
func values(raw []byte) ([]value, error) {
	var all []value
	for len(raw) > 0 {
		number, wireType, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, ErrMalformed
		}
		raw = raw[n:]
		v := value{number: int32(number)}
		switch wireType {
		case protowire.VarintType:
			v.varint, n = protowire.ConsumeVarint(raw)
		case protowire.BytesType:
			v.length = true
			v.bytes, n = protowire.ConsumeBytes(raw)
		default:
			if n = protowire.ConsumeFieldValue(number, wireType, raw); n >= 0 {
				raw = raw[n:]
				continue
			}
		}
		if n < 0 {
			return nil, ErrMalformed
		}
		raw = raw[n:]
		all = append(all, v)
	}
	return all, nil
}

// occurrences returns the values of one field. It returns ErrMalformed if a value has the wrong wire type.
func (f *field) occurrences(all []value) ([]value, error) {
	var found []value
	for _, v := range all {
		if v.number != f.number {
			continue
		}
		if varint := !f.keyed && (f.of == boolean || f.of == integer); varint == v.length {
			return nil, ErrMalformed
		}
		found = append(found, v)
	}
	return found, nil
}

// joined returns the occurrences of a nested message as one message, because decoders of protobuf merge them.
func joined(found []value) []byte {
	if len(found) == 1 {
		return found[0].bytes
	}
	var all []byte
	for _, v := range found {
		all = append(all, v.bytes...)
	}
	return all
}

// member returns the last occurrence of a member, and whether there is one.
func member(raw []byte, number int32) (value, bool, error) {
	all, err := values(raw)
	if err != nil {
		return value{}, false, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].number == number {
			return all[i], true, nil
		}
	}
	return value{}, false, nil
}
