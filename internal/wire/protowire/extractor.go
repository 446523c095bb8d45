package protowire

import (
	"bytes"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// extractor reads the facts of objects of one kind, in one pass over the relevant fields. A slot is the index of a
// value that a scan finds. Safe for concurrent use.
type extractor struct {
	paths []wire.Path
	slots [][]int    // for each path, the slots of its alternatives
	wants []location // locations of the values, indexed by slot
	root  branch
	count int // number of branches that select one element of a repeated field
}

// branch is a field of an object that is selected or contains a selected field.
type branch struct {
	step
	slot       int // slot of the value; -1 if only subfields are needed
	occurrence int // index in walk.seen, for an element of a repeated field
	fields     []*branch
}

func newExtractor(kind schema.GroupVersionKind, fields []wire.Path) *extractor {
	locations, ok := locationsOf(kind, fields)
	if !ok {
		panic("BUG: " + kind.String() + " has a field of unknown number")
	}
	e := &extractor{paths: fields}
	for _, path := range fields {
		slots := make([]int, len(path.Alternatives))
		for i, alternative := range path.Alternatives {
			slots[i] = e.want(locations[alternative])
		}
		e.slots = append(e.slots, slots)
	}
	return e
}

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

// scan reads a message. It copies the message, so that the item retains no other memory.
func (e *extractor) scan(data []byte) (wire.Item, wire.Facts, error) {
	marks, facts, err := e.examine(data)
	if err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	return item.New(bytes.Clone(data), marks), facts, nil
}

func (e *extractor) stored(stored []byte, by []*wire.Dictionary) (it wire.Item, facts wire.Facts, err error) {
	it, err = item.Stored(stored, by, func(plain []byte, object, _ uint32) (marks item.Marks, err error) {
		if int(object) != len(plain) {
			return marks, malformed("stored object of %d bytes ends at %d", len(plain), object)
		}
		marks, facts, err = e.examine(plain)
		return marks, err
	})
	return it, facts, err
}

func (e *extractor) examine(data []byte) (item.Marks, wire.Facts, error) {
	w := newWalk(e)
	defer w.free()
	if err := w.object(e, data); err != nil {
		return item.Marks{}, wire.Facts{}, err
	}
	var texts wire.Texts
	texts.Expect(w.meta.labelBytes() + fewBytes)
	facts := wire.Facts{
		Name: texts.Of(w.meta.name), Namespace: texts.Of(w.meta.namespace), UID: texts.Of(w.meta.uid),
		ResourceVersion: texts.Of(w.meta.rv), Labels: w.meta.sorted(&texts),
	}
	var err error
	facts.Fields, err = e.fields(w, data, &texts)
	return marksOf(data, w.meta.whole, w.meta.version), facts, err
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

// textOf returns a scalar as it appears in JSON, without quotes. It returns "" when the field is missing, or when JSON
// omits its value.
func textOf(p location, f field, data []byte, texts *wire.Texts) (string, error) {
	want := protowire.VarintType
	if p.value == text {
		want = protowire.BytesType
	}
	switch {
	case f.end == 0:
		return "", nil
	case f.wireType != want:
		return "", malformed("field %d has wire type %d, want %d", f.number, f.wireType, want)
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
