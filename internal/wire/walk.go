package wire

import (
	"slices"
	"strconv"
	"strings"
)

// span is a value's place in the scanned bytes; the zero span is no value.
type span struct{ start, end int }

// within tells whether it lies inside another.
func (s span) within(other span) bool { return other.start < s.start && s.end < other.end }

// fewSlots is how many values one scan keeps without allocating; a pod's extractor has 15.
const fewSlots = 24

// walk is one scan of one object.
type walk struct {
	scanner
	found []span
	rest  int // behind the leading type meta
}

// top consumes the whole object and finds where it goes on behind kind and apiVersion, which lead in built-in style.
func (w *walk) top(root *branch) error {
	leading := [2]string{"kind", "apiVersion"}
	matched, members := 0, 0
	err := w.object(func(key []byte) error {
		if members < len(leading) && string(key) == leading[members] {
			matched++
		}
		members++
		if err := w.descend(root.members[string(key)]); err != nil {
			return err
		}
		if members == len(leading) && matched == len(leading) && w.peek() == ',' {
			w.rest = w.pos + 1
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	return w.check()
}

// check makes sure of what an item's offsets stand for. A repeated metadata could put them anywhere.
func (w *walk) check() error {
	metadata, version := w.found[slotMetadata], w.found[slotVersion]
	if metadata.end == 0 || w.data[metadata.start] != '{' || !version.within(metadata) || w.data[version.start] != '"' {
		return &MalformedError{Reason: "an object without metadata.resourceVersion"}
	}
	return nil
}

// descend consumes a value and keeps what is wanted of it.
func (w *walk) descend(b *branch) error {
	if b == nil {
		_, err := w.skip()
		return err
	}
	start := w.pos
	if err := w.enterBranch(b); err != nil {
		return err
	}
	if b.slot >= 0 {
		w.found[b.slot] = span{start, w.pos}
	}
	return nil
}

func (w *walk) enterBranch(b *branch) error {
	if b.members == nil {
		_, err := w.skip()
		return err
	}
	switch w.peek() {
	case '{':
		return w.object(func(key []byte) error { return w.descend(b.members[string(key)]) })
	case '[':
		return w.array(func(index int) error { return w.descend(b.members[strconv.Itoa(index)]) })
	default:
		_, err := w.skip()
		return err
	}
}

// text is a scalar's text: a string's content, else the JSON itself; null and composite values are empty. A value that
// others may share is interned.
func (w *walk) text(slot int, known *interner) string {
	at := w.found[slot]
	raw := w.data[at.start:at.end]
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return known.text(raw[1 : len(raw)-1])
	case 'n', '{', '[':
		return ""
	}
	return known.text(raw)
}

func (w *walk) labels(known *interner) ([]Label, error) {
	at := w.found[slotLabels]
	if at.end == 0 || w.data[at.start] != '{' {
		return nil, nil
	}
	var few [16]Label
	labels := few[:0]
	s := scanner{data: w.data[:at.end], pos: at.start}
	err := s.object(func(key []byte) error {
		value, err := s.str()
		labels = append(labels, Label{Key: known.share(key), Value: known.text(value)})
		return err
	})
	if err != nil {
		return nil, err
	}
	labels = slices.Clone(labels)
	slices.SortFunc(labels, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return labels, nil
}

// item copies the row of the object that was walked.
func (w *walk) item(r Row) Item {
	memory := make([]byte, 0, len(r.Object)+len(r.Cells)+len(r.Conditions))
	memory = append(append(append(memory, r.Object...), r.Cells...), r.Conditions...)
	metadata, version := w.found[slotMetadata], w.found[slotVersion]
	item := Item{
		rest: uint32(w.rest), metadata: uint32(metadata.start), me: uint32(metadata.end),
		version: uint32(version.start + 1), ve: uint32(version.end - 1),
	}
	item.JSON, memory = memory[:len(r.Object):len(r.Object)], memory[len(r.Object):]
	if r.Cells != nil {
		item.Cells = memory[:len(r.Cells):len(r.Cells)]
	}
	if r.Conditions != nil {
		item.conditions = memory[len(r.Cells):]
	}
	return item
}
