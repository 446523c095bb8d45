package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// deepest is the maximum depth of nested messages. No built-in kind has messages at this depth.
const deepest = 64

// JSON appends the JSON of an object. The message is the object in protobuf, without its envelope.
func JSON(dst []byte, kind schema.GroupVersionKind, message []byte) ([]byte, error) {
	m := parsed().kinds[kind]
	if m == nil {
		return nil, fmt.Errorf("%s: %w", kind, ErrUnknownKind)
	}
	return appendObject(dst, kind, m, message)
}

func appendObject(dst []byte, kind schema.GroupVersionKind, m *message, raw []byte) ([]byte, error) {
	w := writer{dst: append(dst, '{')}
	w.name("kind")
	w.text(kind.Kind)
	w.name("apiVersion")
	w.text(kind.GroupVersion().String())
	if err := w.fields(m, raw, deepest); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return append(w.dst, '}'), nil
}

// Knows reports whether JSON supports a kind.
func Knows(kind schema.GroupVersionKind) bool { return parsed().kinds[kind] != nil }

type writer struct{ dst []byte }

// name appends the name of a member, after a comma if the object has members.
func (w *writer) name(name string) {
	if last := w.dst[len(w.dst)-1]; last != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(strconv.AppendQuote(w.dst, name), ':') // names are ASCII
}

func (w *writer) text(text string) { w.marshal(text) }

// marshal appends a value in the notation of encoding/json, which kube-apiserver uses.
func (w *writer) marshal(value any) {
	out, err := json.Marshal(value)
	if err != nil {
		panic("BUG: marshal a scalar: " + err.Error())
	}
	w.dst = append(w.dst, out...)
}

func (w *writer) object(m *message, raw []byte, depth int) error {
	w.dst = append(w.dst, '{')
	if err := w.fields(m, raw, depth); err != nil {
		return err
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *writer) fields(m *message, raw []byte, depth int) error {
	if depth == 0 {
		return fmt.Errorf("more than %d nested messages: %w", deepest, ErrMalformed)
	}
	all, err := values(raw)
	if err != nil {
		return err
	}
	for i := range m.fields {
		f := &m.fields[i]
		found, err := f.occurrences(all)
		if err == nil {
			err = w.field(f, found, depth)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// field appends one member, or all members of a message that JSON inlines. It writes an absent value as encoding/json
// does.
func (w *writer) field(f *field, found []value, depth int) error {
	switch {
	case f.name == "":
		return w.fields(f.nested, joined(found), depth-1)
	case len(found) == 0 && (f.list || f.keyed || f.pointer || f.of == binary || f.of == texts):
		if !f.optional {
			w.name(f.name)
			w.dst = append(w.dst, "null"...)
		}
		return nil
	}
	start := len(w.dst)
	w.name(f.name)
	value := len(w.dst)
	err := w.value(f, found, depth)
	if f.optional && !f.pointer && empty(w.dst[value:], f) {
		w.dst = w.dst[:start]
	}
	return err
}

// empty reports whether encoding/json omits a value of an optional field.
func empty(value []byte, f *field) bool {
	switch string(value) {
	case `""`:
		return f.of == str || f.of == binary
	case "0", "false":
		return f.of == integer || f.of == boolean
	case "[]":
		return f.of == texts || f.list
	case "null": // the zero value of a time, whose field has the option omitzero
		return f.of == moment && !f.list && !f.keyed
	}
	return false
}

func (w *writer) value(f *field, found []value, depth int) error {
	switch {
	case f.keyed:
		return w.entries(f, found, depth)
	case f.list:
		return w.elements(f, found, depth)
	case f.of == nested:
		return w.object(f.nested, joined(found), depth-1)
	case len(found) == 0:
		return w.scalar(f.of, value{})
	}
	last := found[len(found)-1]
	if last.length && f.of != str && f.of != binary {
		last.bytes = joined(found)
	}
	return w.scalar(f.of, last)
}

func (w *writer) elements(f *field, found []value, depth int) error {
	w.dst = append(w.dst, '[')
	for i, v := range found {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.element(f, v, depth); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

func (w *writer) element(f *field, v value, depth int) error {
	if f.of == nested {
		return w.object(f.nested, v.bytes, depth-1)
	}
	return w.scalar(f.of, v)
}

// entries appends a map. Its entries are messages with a key and a value. JSON sorts the keys.
func (w *writer) entries(f *field, found []value, depth int) error {
	entries := make(map[string]value, len(found))
	for _, entry := range found {
		key, _, err := member(entry.bytes, 1)
		if err != nil {
			return err
		}
		of, _, err := member(entry.bytes, 2)
		if err != nil {
			return err
		}
		entries[string(key.bytes)] = of
	}
	w.dst = append(w.dst, '{')
	for i, key := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.text(key)
		w.dst = append(w.dst, ':')
		if err := w.element(f, entries[key], depth); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

// raw appends a JSON document as encoding/json writes the result of a json.Marshaler.
func (w *writer) raw(document []byte) error {
	if !json.Valid(document) {
		return fmt.Errorf("invalid JSON: %w", ErrMalformed)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		return err
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, compact.Bytes())
	w.dst = append(w.dst, escaped.Bytes()...)
	return nil
}
