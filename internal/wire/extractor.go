package wire

import (
	"slices"
	"strconv"
	"strings"
	"unique"
)

// Path says where one selectable field's value lies.
type Path struct {
	// Alternatives are dotted paths with array indexes as numbers; the first with a value that is not empty counts.
	Alternatives []string
	// Default is the value when none has one.
	Default string
}

// Label is one label of an object.
type Label struct{ Key, Value string }

// Facts is what is read out of an object: all that the cache sorts, selects and indexes by.
type Facts struct {
	Namespace, Name, ResourceVersion string
	Labels                           []Label  // sorted by key
	Fields                           []string // parallel to the extractor's paths
}

// Extractor reads the facts out of the objects of one kind, in one pass over their bytes. Safe for concurrent use.
type Extractor struct {
	paths []Path
	slots [][]int // for each path, the slots of its alternatives
	root  *branch
	count int
}

// branch is a place in an object that is on the way to something wanted.
type branch struct {
	slot    int // where to keep the value; -1 if only what is below it is wanted
	members map[string]*branch
}

// The slots that every extractor has.
const (
	slotName = iota
	slotNamespace
	slotVersion
	slotLabels
	slotMetadata
	ownSlots
)

// NewExtractor makes an extractor of the fields that a kind is selected by.
func NewExtractor(fields []Path) *Extractor {
	e := &Extractor{paths: fields, root: newBranch()}
	for _, path := range []string{"metadata.name", "metadata.namespace", "metadata.resourceVersion", "metadata.labels", "metadata"} {
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

// want adds a path and returns the slot of its value.
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

// span is a value's place in the scanned bytes; the zero span is no value.
type span struct{ start, end int }

// walk is one scan of one object.
type walk struct {
	scanner
	found []span
	rest  int // behind the leading type meta
}

// Scan reads an object, which must be complete, and copies it and its cells into one allocation. It fails with a
// *MalformedError.
func (e *Extractor) Scan(object, cells []byte) (Item, Facts, error) {
	w := walk{scanner: scanner{data: object}, found: make([]span, e.count)}
	if err := w.top(e.root); err != nil {
		return Item{}, Facts{}, err
	}
	metadata, version := w.found[slotMetadata], w.found[slotVersion]
	if metadata.end == 0 || version.end == 0 || object[version.start] != '"' {
		return Item{}, Facts{}, &MalformedError{Reason: "an object without metadata.resourceVersion"}
	}
	memory := make([]byte, 0, len(object)+len(cells))
	memory = append(append(memory, object...), cells...)
	item := Item{
		JSON: memory[:len(object):len(object)], rest: uint32(w.rest),
		metadata: uint32(metadata.start), me: uint32(metadata.end), version: uint32(version.start + 1), ve: uint32(version.end - 1),
	}
	if cells != nil {
		item.Cells = memory[len(object):]
	}
	facts := Facts{Name: intern(w.text(slotName)), Namespace: intern(w.text(slotNamespace)), ResourceVersion: w.text(slotVersion)}
	var err error
	if facts.Labels, err = w.labels(); err != nil {
		return Item{}, Facts{}, err
	}
	facts.Fields = e.fields(&w)
	return item, facts, nil
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
	return w.end()
}

// descend consumes a value and keeps what is wanted of it.
func (w *walk) descend(b *branch) error {
	if b == nil {
		_, err := w.skip()
		return err
	}
	start := w.pos
	if err := w.within(b); err != nil {
		return err
	}
	if b.slot >= 0 {
		w.found[b.slot] = span{start, w.pos}
	}
	return nil
}

func (w *walk) within(b *branch) error {
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

// text is a scalar's text: a string's content, else the JSON itself; null and composite values are empty.
func (w *walk) text(slot int) string {
	at := w.found[slot]
	raw := w.data[at.start:at.end]
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return unquote(raw[1 : len(raw)-1])
	case 'n', '{', '[':
		return ""
	}
	return string(raw)
}

func (w *walk) labels() ([]Label, error) {
	at := w.found[slotLabels]
	if at.end == 0 || w.data[at.start] != '{' {
		return nil, nil
	}
	s := scanner{data: w.data[:at.end], pos: at.start}
	var labels []Label
	err := s.object(func(key []byte) error {
		value, err := s.str()
		labels = append(labels, Label{Key: intern(unquote(key)), Value: intern(unquote(value))})
		return err
	})
	slices.SortFunc(labels, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return labels, err
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
				values[i] = intern(text)
				break
			}
		}
	}
	return values
}

// intern makes equal strings share their memory for as long as somebody holds one of them: a cluster has thousands of pods
// and a few hundred label values.
func intern(s string) string { return unique.Make(s).Value() }
