package protowire

import (
	"bytes"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

// extractor reads the facts out of the objects of one kind, in one pass over the fields on the way to them. Safe for
// concurrent use.
type extractor struct {
	paths []wire.Path
	slots [][]int    // for each path, the slots of its alternatives
	wants []location // by slot
	root  branch
	count int // of branches that are the nth of a repeated field
}

// branch is a place in an object that is on the way to something wanted.
type branch struct {
	step
	slot       int // where to keep the value; -1 if only what is below it is wanted
	occurrence int // of the nth of a repeated field: where it is counted
	fields     []*branch
}

func newExtractor(kind schema.GroupVersionKind, fields []wire.Path) *extractor {
	places, ok := locationsOf(kind, fields)
	if !ok {
		panic("BUG: " + kind.String() + " has a field whose number is not known")
	}
	e := &extractor{paths: fields}
	for _, path := range fields {
		slots := make([]int, len(path.Alternatives))
		for i, alternative := range path.Alternatives {
			slots[i] = e.want(places[alternative])
		}
		e.slots = append(e.slots, slots)
	}
	return e
}

// want adds a place and returns the slot of its value.
func (e *extractor) want(p location) int {
	at := &e.root
	for _, step := range p.steps {
		at = e.below(at, step)
	}
	if at.slot < 0 {
		at.slot = len(e.wants)
		e.wants = append(e.wants, p)
	}
	return at.slot
}

// below is the branch that a step leads to.
func (e *extractor) below(at *branch, s step) *branch {
	for _, b := range at.fields {
		if b.step == s {
			return b
		}
	}
	b := &branch{step: s, slot: -1}
	if s.nth > 0 {
		b.occurrence = e.count
		e.count++
	}
	at.fields = append(at.fields, b)
	return b
}

// scan reads a message and copies it, so that the item keeps nothing else alive.
func (e *extractor) scan(data []byte) (wire.Item, wire.Facts, error) {
	var few [fewSlots]field
	var turns [fewSlots]int
	w := walk{found: few[:], seen: turns[:]}
	if len(e.wants) > fewSlots || e.count > fewSlots {
		w.found, w.seen = make([]field, len(e.wants)), make([]int, e.count)
	}
	if err := w.object(e, data); err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	var texts wire.Texts
	texts.Expect(w.meta.labelBytes() + fewBytes)
	facts := wire.Facts{
		Name: texts.Of(w.meta.name), Namespace: texts.Of(w.meta.namespace), ResourceVersion: texts.Of(w.meta.rv),
		Labels: w.meta.sorted(&texts),
	}
	var err error
	if facts.Fields, err = e.fields(&w, data, &texts); err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	return newItem(bytes.Clone(data), w.meta.whole, w.meta.version), facts, nil
}

func (e *extractor) fields(w *walk, data []byte, texts *wire.Texts) ([]string, error) {
	if len(e.paths) == 0 {
		return nil, nil
	}
	values := make([]string, len(e.paths))
	for i, path := range e.paths {
		values[i] = path.Default
		for _, slot := range e.slots[i] {
			value, err := textOf(e.wants[slot], w.found[slot], data, texts)
			if err != nil {
				return nil, err
			}
			if value != "" {
				values[i] = value
				break
			}
		}
	}
	return values, nil
}

// textOf is a scalar's text as it is in JSON; empty when the field is not there, or would not be in JSON.
func textOf(p location, f field, data []byte, texts *wire.Texts) (string, error) {
	want := protowire.VarintType
	if p.value == text {
		want = protowire.BytesType
	}
	switch {
	case f.end == 0:
		return "", nil
	case f.wireType != want:
		return "", malformed("field %d has the wire type %d", f.number, f.wireType)
	case p.value == text:
		return texts.Of(data[f.start:f.end]), nil
	case p.omitted && f.varint == 0:
		return "", nil
	case p.value == boolean:
		return strconv.FormatBool(protowire.DecodeBool(f.varint)), nil
	default:
		return strconv.FormatInt(int64(f.varint), 10), nil
	}
}
