package jsonwire

import (
	"strings"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Extractor reads the facts of objects of one kind, in one pass over their bytes. A slot is the index of a value that a
// scan finds. Safe for concurrent use.
type Extractor struct {
	paths []wire.Path
	slots [][]int // for each path, the slots of its alternatives
	root  *branch
	count int
}

// branch is a location in an object that is selected or contains a selected value.
type branch struct {
	slot    int // slot of the value; -1 if only members are needed
	members map[string]*branch
}

const (
	slotName = iota
	slotNamespace
	slotUID
	slotVersion
	slotLabels
	slotMetadata
	ownSlots
)

// NewExtractor returns an extractor for a kind with these selectable fields.
func NewExtractor(fields []wire.Path) *Extractor {
	e := &Extractor{paths: fields, root: newBranch()}
	for _, path := range []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
		"metadata.labels", "metadata"} {
		e.want(path)
	}
	for _, field := range fields {
		slots := make([]int, len(field.Alternatives))
		for i, path := range field.Alternatives {
			slots[i] = e.want(path)
		}
		e.slots = append(e.slots, slots)
	}
	return e
}

func newBranch() *branch { return &branch{slot: -1} }

func (e *Extractor) want(path string) int {
	at := e.root
	for _, step := range strings.Split(path, ".") {
		if at.members == nil {
			at.members = map[string]*branch{}
		}
		if at.members[step] == nil {
			at.members[step] = newBranch()
		}
		at = at.members[step]
	}
	if at.slot < 0 {
		at.slot = e.count
		e.count++
	}
	return at.slot
}

// Scan reads a complete object. It copies the object and its row into one allocation. It removes white space between
// values, because responses are compact. It fails with a *scan.MalformedError.
func (e *Extractor) Scan(row Row) (wire.Item, wire.Facts, error) {
	var few [fewSlots]span
	w := walk{Scanner: scan.Scanner{Data: row.Object}, found: few[:]}
	if e.count > fewSlots {
		w.found = make([]span, e.count)
	}
	if err := w.top(e.root); err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	if w.Spaced {
		var err error
		if row.Object, err = compact(row.Object); err != nil {
			return wire.Item{}, wire.Facts{}, err
		}
		return e.Scan(row)
	}
	row, err := row.dense()
	if err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	facts, err := e.facts(&w)
	if err != nil {
		return wire.Item{}, wire.Facts{}, err
	}
	return w.item(row), facts, nil
}

func (e *Extractor) facts(w *walk) (wire.Facts, error) {
	labels, err := w.labels()
	return wire.Facts{
		Name: w.text(slotName), Namespace: w.text(slotNamespace), UID: w.text(slotUID),
		ResourceVersion: w.text(slotVersion), Labels: labels, Fields: e.fields(w),
	}, err
}

// Stored reads an item that wire.AppendStored appended. It fails with wire.ErrDamaged or a *scan.MalformedError.
func (e *Extractor) Stored(stored []byte, by []*wire.Dictionary) (it wire.Item, facts wire.Facts, err error) {
	it, err = item.Stored(stored, by, func(plain []byte, object, cells uint32) (item.Marks, error) {
		row := Row{Object: plain[:object], Cells: plain[object:cells], Conditions: plain[cells:]}
		w := walk{Scanner: scan.Scanner{Data: row.Object}, found: make([]span, max(e.count, fewSlots))}
		if err := w.top(e.root); err != nil {
			return item.Marks{}, err
		}
		dense, err := row.dense()
		if err == nil && (w.Spaced || len(dense.Cells) != len(row.Cells) || len(dense.Conditions) != len(row.Conditions)) {
			err = w.Fail("stored object contains white space")
		}
		if err == nil {
			facts, err = e.facts(&w)
		}
		return w.marks(row), err
	})
	return it, facts, err
}

func (e *Extractor) fields(w *walk) []string {
	if len(e.paths) == 0 {
		return nil
	}
	values := make([]string, len(e.paths))
	for i, path := range e.paths {
		values[i] = path.Default
		for _, slot := range e.slots[i] {
			if text := w.text(slot); text != "" {
				values[i] = text
				break
			}
		}
	}
	return values
}
