package protowire

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/listfacade/listfacade/internal/wire"
)

// fewSlots is how many values one scan keeps without allocating; a pod's extractor has 9.
const fewSlots = 16

// fewBytes are those of an object's facts, its labels aside, mostly; a pod's are 200.
const fewBytes = 256

// walk is one scan of one object.
type walk struct {
	meta  objectMeta
	found []field // by slot
	seen  []int   // how many of a repeated field were there
}

// object walks over a whole object.
func (w *walk) object(e *extractor, data []byte) error {
	s := scanner{data: data}
	for s.more() {
		f, err := s.next()
		if err == nil && f.number == objectMetadata {
			err = w.meta.read(data, f)
		} else if err == nil {
			err = w.descend(&e.root, data, f)
		}
		if err != nil {
			return err
		}
	}
	if w.meta.version.end == 0 {
		return malformed("an object without metadata.resourceVersion")
	}
	return nil
}

// descend keeps what is wanted of a field of the message that a branch leads to.
func (w *walk) descend(at *branch, data []byte, f field) error {
	for _, b := range at.fields {
		if b.number != f.number || b.nth > 0 && !w.occurrence(b) {
			continue
		}
		if b.slot >= 0 {
			w.found[b.slot] = f
		}
		if b.fields == nil {
			continue
		}
		if err := w.enter(b, data, f); err != nil {
			return err
		}
	}
	return nil
}

// turn counts a repeated field, and tells whether it is the one that is wanted.
func (w *walk) occurrence(b *branch) bool {
	w.seen[b.occurrence]++
	return w.seen[b.occurrence] == b.nth
}

// enter walks over a message.
func (w *walk) enter(b *branch, data []byte, f field) error {
	if f.wireType != protowire.BytesType {
		return malformed("field %d is no message", f.number)
	}
	for _, below := range b.fields {
		if below.nth > 0 {
			w.seen[below.occurrence] = 0
		}
	}
	s := scanner{data: data[:f.end], pos: f.start}
	for s.more() {
		f, err := s.next()
		if err == nil {
			err = w.descend(b, data, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// objectMeta is what is read of an object's metadata.
type objectMeta struct {
	whole, version      field // in the object
	name, namespace, rv []byte
	labels              []wirePair
	few                 [12]wirePair
}

type wirePair struct{ key, value []byte }

// read reads metadata, which comes once, as does its version: they are exchanged by their place.
func (m *objectMeta) read(data []byte, f field) error {
	if m.whole.end != 0 || !f.isPlain() {
		return malformed("an object whose metadata is not one plain field")
	}
	m.whole, m.labels = f, m.few[:0]
	s := scanner{data: data[:f.end], pos: f.start}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return err
		}
		switch f.number {
		case metaName:
			m.name, err = s.bytes(f)
		case metaNamespace:
			m.namespace, err = s.bytes(f)
		case metaVersion:
			if m.version.end != 0 || !f.isPlain() {
				return malformed("an object whose resourceVersion is not one plain field")
			}
			m.version, m.rv = f, data[f.start:f.end]
		case metaLabels:
			var pair wirePair
			pair, err = readEntry(&s, f)
			m.labels = append(m.labels, pair)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readEntry reads an entry of a map of texts.
func readEntry(of *scanner, f field) (pair wirePair, err error) {
	entry, err := of.bytes(f)
	if err != nil {
		return pair, err
	}
	s := scanner{data: entry}
	for s.more() {
		if f, err = s.next(); err != nil {
			return pair, err
		}
		switch f.number {
		case entryKey:
			pair.key, err = s.bytes(f)
		case entryValue:
			pair.value, err = s.bytes(f)
		}
		if err != nil {
			return pair, err
		}
	}
	return pair, nil
}

// labelBytes are those of the labels' keys and values.
func (m *objectMeta) labelBytes() int {
	n := 0
	for _, pair := range m.labels {
		n += len(pair.key) + len(pair.value)
	}
	return n
}

// sorted are the labels by their keys.
func (m *objectMeta) sorted(texts *wire.Texts) []wire.Pair {
	if len(m.labels) == 0 {
		return nil
	}
	labels := make([]wire.Pair, len(m.labels))
	for i, pair := range m.labels {
		labels[i] = wire.Pair{Key: texts.Of(pair.key), Value: texts.Of(pair.value)}
	}
	slices.SortFunc(labels, func(a, b wire.Pair) int { return strings.Compare(a.Key, b.Key) })
	return labels
}
