package simulated

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobufForm returns the form of an application's pods in protobuf, made from one of them.
func protobufForm(pod *corev1.Pod, known messages) (form, error) {
	data, err := pod.Marshal()
	if err != nil {
		return form{}, fmt.Errorf("encode a pod: %w", err)
	}
	spots, lengths := spotsOf(pod, data), []span(nil)
	err = known.walk(data, 0, reflect.TypeFor[corev1.Pod](), func(s span) {
		lengths = append(lengths, s)
		if s.of != reflect.TypeFor[metav1.Time]() || s.from == s.to {
			return
		}
		seconds, n := protowire.ConsumeVarint(data[s.from+1 : s.to]) // the field seconds of the message
		spots = append(spots, spot{from: s.from + 1, to: s.from + 1 + n,
			hole: hole{part: partSeconds, moment: int64(seconds)}}) //nolint:gosec // a date
	})
	if err != nil {
		return form{}, err
	}
	return cut(data, append(spots, lengthsAround(spots, lengths)...))
}

// lengthsAround returns two spots for each string or message that contains one of the given spots: at its length, and
// at its end. The length of such a field depends on the values of a pod.
func lengthsAround(spots []spot, lengths []span) (around []spot) {
	for _, l := range lengths {
		for _, s := range spots {
			if l.from <= s.from && s.to <= l.to {
				around = append(around, spot{from: l.length, to: l.from, hole: hole{part: partBegin}},
					spot{from: l.to, to: l.to, hole: hole{part: partEnd}})
				break
			}
		}
	}
	return around
}

// span is the position of a string or message in a protobuf encoding.
type span struct {
	length   int // position of the length; the content begins after it, at from
	from, to int
	of       reflect.Type
}

// messages contains, for Go types of the API, the types of their string and message fields by field number. Tags of the
// Go types define the numbers.
type messages map[reflect.Type]map[protowire.Number]reflect.Type

func (m messages) fields(of reflect.Type) map[protowire.Number]reflect.Type {
	if known, ok := m[of]; ok {
		return known
	}
	fields := map[protowire.Number]reflect.Type{}
	switch of.Kind() {
	case reflect.Map:
		fields[1], fields[2] = of.Key(), of.Elem()
	case reflect.Struct:
		for i := range of.NumField() {
			kind, rest, _ := strings.Cut(of.Field(i).Tag.Get("protobuf"), ",")
			number, _, _ := strings.Cut(rest, ",")
			if n, err := strconv.ParseInt(number, 10, 32); err == nil && kind == "bytes" {
				fields[protowire.Number(n)] = single(of.Field(i).Type)
			}
		}
	default: // other types have no fields
	}
	m[of] = fields
	return fields
}

// single returns the type of one element of a field.
func single(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// walk calls visit for each string and message in data, before the content of a message. data is a message of the given
// type, at an offset in the outermost message.
func (m messages) walk(data []byte, at int, of reflect.Type, visit func(span)) error {
	fields := m.fields(of)
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		size := protowire.ConsumeFieldValue(number, kind, data[max(n, 0):])
		if n < 0 || size < 0 {
			return fmt.Errorf("read the protobuf of %s: %w", of, protowire.ParseError(min(n, size)))
		}
		if inner, ok := fields[number]; ok {
			value, _ := protowire.ConsumeBytes(data[n:])
			s := span{length: at + n, from: at + n + size - len(value), to: at + n + size, of: inner}
			visit(s)
			if len(m.fields(inner)) == 0 {
				value = nil // a string
			}
			if err := m.walk(value, s.from, inner, visit); err != nil {
				return err
			}
		}
		data, at = data[n+size:], at+n+size
	}
	return nil
}
