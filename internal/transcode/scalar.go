package transcode

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field numbers of messages that JSON writes as one value.
const (
	onlyMember int32 = 1 // only member of a Quantity, a Duration, a JSON document or a list of texts

	timeSeconds int32 = 1
	timeNanos   int32 = 2

	eitherType int32 = 1
	eitherInt  int32 = 2
	eitherText int32 = 3
)

// scalar appends a value that is no object in JSON. If v is the zero value, the field is absent.
func (w *writer) scalar(of kind, v value) error {
	switch of {
	case str:
		w.text(string(v.bytes))
	case boolean:
		w.dst = strconv.AppendBool(w.dst, v.varint != 0)
	case integer:
		w.dst = strconv.AppendInt(w.dst, int64(v.varint), 10)
	case binary:
		w.dst = append(base64.StdEncoding.AppendEncode(append(w.dst, '"'), v.bytes), '"')
	case moment, micro:
		return w.time(of, v.bytes)
	case duration:
		n, _, err := member(v.bytes, onlyMember)
		w.text(time.Duration(n.varint).String())
		return err
	case quantity:
		return w.quantity(v.bytes)
	case either:
		return w.either(v.bytes)
	case document:
		return w.document(v.bytes)
	case texts:
		return w.texts(v.bytes)
	default:
		panic(fmt.Sprintf("BUG: %q is no scalar", of))
	}
	return nil
}

// time appends a time in UTC, or null for the zero time, which has no bytes.
func (w *writer) time(of kind, raw []byte) error {
	if len(raw) == 0 {
		w.dst = append(w.dst, "null"...)
		return nil
	}
	seconds, _, err := member(raw, timeSeconds)
	if err != nil {
		return err
	}
	nanos, _, err := member(raw, timeNanos)
	if err != nil {
		return err
	}
	at, layout := time.Unix(int64(seconds.varint), int64(int32(nanos.varint))).UTC(), time.RFC3339
	if of == micro {
		layout = metav1.RFC3339Micro
		// k8s.io/apimachinery truncates a MicroTime to microseconds, in protobuf and in JSON.
		at = at.Truncate(time.Microsecond)
	}
	w.dst = append(at.AppendFormat(append(w.dst, '"'), layout), '"')
	return nil
}

func (w *writer) quantity(raw []byte) error {
	v, _, err := member(raw, onlyMember)
	if err != nil {
		return err
	}
	if len(v.bytes) == 0 {
		w.text("0")
		return nil
	}
	q, err := resource.ParseQuantity(string(v.bytes))
	if err != nil {
		return fmt.Errorf("quantity %.40q: %w", v.bytes, ErrMalformed)
	}
	w.text(q.String())
	return nil
}

func (w *writer) either(raw []byte) error {
	const isText = 1
	which, _, err := member(raw, eitherType)
	if err != nil {
		return err
	}
	number := eitherInt
	if which.varint == isText {
		number = eitherText
	}
	v, _, err := member(raw, number)
	if which.varint == isText {
		w.text(string(v.bytes))
	} else {
		w.dst = strconv.AppendInt(w.dst, int64(int32(v.varint)), 10)
	}
	return err
}

// document appends a JSON document, or null if there is none.
func (w *writer) document(raw []byte) error {
	v, found, err := member(raw, onlyMember)
	if err != nil {
		return err
	}
	if !found {
		w.dst = append(w.dst, "null"...)
		return nil
	}
	return w.raw(v.bytes)
}

func (w *writer) texts(raw []byte) error {
	all, err := values(raw)
	if err != nil {
		return err
	}
	f := field{number: onlyMember, of: str, flags: flags{list: true}}
	found, err := f.occurrences(all)
	if err != nil {
		return err
	}
	return w.elements(&f, found, deepest)
}
