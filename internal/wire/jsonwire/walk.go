package jsonwire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// span is the position of a value in the scanned bytes. The zero span is no value.
type span struct{ start, end int }

func (s span) within(other span) bool { return other.start < s.start && s.end < other.end }

// fewSlots is the number of values that a scan stores without an allocation. A pod's extractor needs 15 slots.
const fewSlots = 24

// fewBytes is the usual size in bytes of an object's facts without labels. A pod needs about 200.
const fewBytes = 256

type walk struct {
	scan.Scanner
	found []span
	rest  int // position after the leading type meta
	texts wire.Texts
}

// top consumes the object. It finds the position after kind and apiVersion, which come first in a built-in object.
func (w *walk) top(root *branch) error {
	leading := [2]string{"kind", "apiVersion"}
	matched, members := 0, 0
	err := w.Object(func(key []byte) error {
		if members < len(leading) && string(key) == leading[members] {
			matched++
		}
		members++
		if err := w.descend(root.members[string(key)]); err != nil {
			return err
		}
		if members == len(leading) && matched == len(leading) && w.Peek() == ',' {
			w.rest = w.Pos + 1
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.End(); err != nil {
		return err
	}
	return w.check()
}

// check validates the spans of an item's marks. A repeated metadata member could make the spans inconsistent.
func (w *walk) check() error {
	metadata, version := w.found[slotMetadata], w.found[slotVersion]
	if metadata.end == 0 || w.Data[metadata.start] != '{' || !version.within(metadata) || w.Data[version.start] != '"' {
		return &scan.MalformedError{Reason: "object without metadata.resourceVersion"}
	}
	return nil
}

func (w *walk) descend(b *branch) error {
	if b == nil {
		_, err := w.Skip()
		return err
	}
	start := w.Pos
	if err := w.enterBranch(b); err != nil {
		return err
	}
	if b.slot >= 0 {
		w.found[b.slot] = span{start, w.Pos}
	}
	return nil
}

func (w *walk) enterBranch(b *branch) error {
	if b.members == nil {
		_, err := w.Skip()
		return err
	}
	switch w.Peek() {
	case '{':
		return w.Object(func(key []byte) error { return w.descend(b.members[string(key)]) })
	case '[':
		return w.Array(func(index int) error { return w.descend(b.members[strconv.Itoa(index)]) })
	default:
		_, err := w.Skip()
		return err
	}
}

// text returns the content of a string, or the JSON of another scalar, or "" for null, objects and arrays.
func (w *walk) text(slot int) string {
	at := w.found[slot]
	raw := w.Data[at.start:at.end]
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return w.textOf(raw[1 : len(raw)-1])
	case 'n', '{', '[':
		return ""
	}
	return w.textOf(raw)
}

func (w *walk) labels() ([]wire.Pair, error) {
	at := w.found[slotLabels]
	if at.end == 0 || w.Data[at.start] != '{' {
		return nil, nil
	}
	w.texts.Expect(at.end - at.start + fewBytes)
	var few [16]wire.Pair
	labels := few[:0]
	s := scan.Scanner{Data: w.Data[:at.end], Pos: at.start}
	err := s.Object(func(key []byte) error {
		value, err := s.Text()
		labels = append(labels, wire.Pair{Key: w.texts.Of(key), Value: w.textOf(value)})
		return err
	})
	if err != nil {
		return nil, err
	}
	labels = slices.Clone(labels)
	slices.SortFunc(labels, func(a, b wire.Pair) int { return strings.Compare(a.Key, b.Key) })
	return labels, nil
}

func (w *walk) textOf(raw []byte) string {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return scan.Unescape(raw)
	}
	return w.texts.Of(raw)
}

func (w *walk) item(r Row) wire.Item {
	object := r.Object
	if len(r.Lead) > 0 {
		object = object[1:] // the lead contains the opening bracket
	}
	memory := make([]byte, 0, len(r.Lead)+len(object)+len(r.Cells)+len(r.Conditions))
	memory = append(append(memory, r.Lead...), object...)
	memory = append(append(memory, r.Cells...), r.Conditions...)
	return item.New(memory, w.marks(r))
}

func (w *walk) marks(r Row) item.Marks {
	rest, by := w.rest, 0
	if len(r.Lead) > 0 {
		rest, by = len(r.Lead), len(r.Lead)-1
	}
	end := uint32(len(r.Object) + by)
	metadata, version := w.found[slotMetadata], w.found[slotVersion]
	return item.Marks{
		Object: end, Cells: end + uint32(len(r.Cells)), Rest: uint32(rest),
		Metadata: item.Span{Start: uint32(metadata.start + by), End: uint32(metadata.end + by)},
		Version:  item.Span{Start: uint32(version.start + 1 + by), End: uint32(version.end - 1 + by)},
	}
}
