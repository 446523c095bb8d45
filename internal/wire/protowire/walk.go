package protowire

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/listfacade/listfacade/internal/wire"
)

// fewSlots is the number of values that a scan stores without an allocation. A pod's extractor needs 9 slots.
const fewSlots = 16

// fewBytes is the usual size in bytes of an object's facts without labels. A pod needs about 200.
const fewBytes = 256

type walk struct {
	meta  objectMeta
	found []field // values, indexed by slot
	seen  []int   // number of scanned elements of each repeated field

	fewFound [fewSlots]field
	fewSeen  [fewSlots]int
}

// walks is a pool, because each walk takes 2 kB.
var walks = sync.Pool{New: func() any { return new(walk) }}

// newWalk returns a walk for an extractor. The caller must free it.
func newWalk(e *extractor) *walk {
	w := walks.Get().(*walk)
	w.found, w.seen = w.fewFound[:], w.fewSeen[:]
	if len(e.wants) > fewSlots || e.count > fewSlots {
		w.found, w.seen = make([]field, len(e.wants)), make([]int, e.count)
	}
	return w
}

func (w *walk) free() {
	*w = walk{}
	walks.Put(w)
}

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
		return malformed("object without metadata.resourceVersion")
	}
	return nil
}

// descend stores the field if it is needed, and scans its subfields. at is the branch of the enclosing message.
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

// occurrence counts an element of a repeated field, and reports whether the branch selects this element.
func (w *walk) occurrence(b *branch) bool {
	w.seen[b.occurrence]++
	return w.seen[b.occurrence] == b.nth
}

func (w *walk) enter(b *branch, data []byte, f field) error {
	if f.wireType != protowire.BytesType {
		return malformed("field %d is not a message", f.number)
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

// objectMeta is the part of an object's metadata that responses and facts need.
type objectMeta struct {
	whole, version       field // metadata and its resourceVersion, with positions in the object
	name, namespace, uid []byte
	rv                   []byte
	labels               []wirePair
	few                  [12]wirePair
}

type wirePair struct{ key, value []byte }

// read reads metadata. Metadata and its resourceVersion must occur once, because withVersion replaces them by position.
func (m *objectMeta) read(data []byte, f field) error {
	if m.whole.end != 0 || !f.isPlain() {
		return malformed("metadata is repeated or not in shortest encoding")
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
		case metaUID:
			m.uid, err = s.bytes(f)
		case metaVersion:
			if m.version.end != 0 || !f.isPlain() {
				return malformed("resourceVersion is repeated or not in shortest encoding")
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

func (m *objectMeta) labelBytes() int {
	n := 0
	for _, pair := range m.labels {
		n += len(pair.key) + len(pair.value)
	}
	return n
}

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
