package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Model is what happened to one resource, told by kube-apiserver itself: everything that was there at one
// resourceVersion and every change since. It is plain and slow on purpose.
type Model struct {
	scope    *filter
	from, to uint64
	base     map[string]*version // what was there at from
	changes  []change            // in order, above from
}

// version is one state of one object.
type version struct {
	raw     []byte
	content map[string]any
	rv      uint64
}

// change is one write. before is nil for a creation, after for a deletion; gone is the deleted object as it was
// announced.
type change struct {
	rv            uint64
	key           string
	before, after *version
	gone          []byte
}

// NewModel makes a model of a watch with initial events and bookmarks, in plain JSON. It may be one of a namespace; of
// selectors, only one for labels that no object ever gets or loses is of use, for what is not selected is not in the
// model.
func NewModel(r *Recording) (*Model, error) {
	scope, err := newFilter(r.Question)
	if err != nil || !scope.fields.Empty() || !scope.marked {
		return nil, fmt.Errorf("%s: a model needs a watch with initial events and bookmarks, of all fields (%w)", r.Question, err)
	}
	events, err := r.Events()
	if err != nil {
		return nil, err
	}
	m := &Model{scope: scope, base: map[string]*version{}}
	now := m.base
	for _, e := range events {
		switch {
		case e.Type == "ERROR":
			return nil, fmt.Errorf("%s: the model's watch failed: %s", r.Question, e.Object)
		case e.InitialEnd:
			m.from, now = e.RV, maps.Clone(m.base)
		case e.Type == Bookmark:
		case m.from == 0:
			m.base[e.Key], err = newVersion(e)
		default:
			err = m.add(now, e)
		}
		if err != nil {
			return nil, err
		}
		if m.from > 0 {
			m.to = max(m.to, e.RV)
		}
	}
	if m.from == 0 {
		return nil, errors.New("the model's watch has no end of initial events")
	}
	return m, nil
}

// Close says that what the model was told is all that happened since a version, whatever other resources did.
func (m *Model) Close(since uint64) {
	m.from = min(m.from, since)
	m.to = math.MaxUint64
}

// Expected is how many events, other than bookmarks, a watch has to tell of what the model knows. A watch whose
// question does not say where it starts began when the resource was at opened.
func (m *Model) Expected(q Question, opened uint64) (int, error) {
	f, err := newFilter(q)
	if err != nil {
		return 0, err
	}
	from := opened
	if !f.initial && f.start > 0 {
		from = f.start
	}
	n := len(m.after(f, from, m.to))
	if f.initial {
		n += len(m.initial(f, from))
	}
	return n, nil
}

func newVersion(e Event) (*version, error) {
	v := &version{raw: e.Object, rv: e.RV}
	return v, json.Unmarshal(e.Object, &v.content)
}

func (m *Model) add(now map[string]*version, e Event) error {
	c := change{rv: e.RV, key: e.Key, before: now[e.Key]}
	if e.Type == Deleted {
		c.gone = e.Object
		delete(now, e.Key)
	} else {
		var err error
		if c.after, err = newVersion(e); err != nil {
			return err
		}
		now[e.Key] = c.after
	}
	if (c.before == nil) != (e.Type == Added) {
		return fmt.Errorf("the model's watch contradicts itself at %s", e)
	}
	m.changes = append(m.changes, c)
	return nil
}

// state is what there was at rv, by its key.
func (m *Model) state(rv uint64) map[string]*version {
	state := maps.Clone(m.base)
	for _, c := range m.changes {
		if c.rv > rv {
			break
		}
		if c.after == nil {
			delete(state, c.key)
		} else {
			state[c.key] = c.after
		}
	}
	return state
}

// initial is what a streaming list at rv begins with, in key order.
func (m *Model) initial(f *filter, rv uint64) []Event {
	state := m.state(rv)
	var events []Event
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if v := state[key]; f.matches(key, v) {
			events = append(events, Event{Type: Added, Key: key, RV: v.rv, Object: v.raw})
		}
	}
	return events
}

// after is what a watch has to tell of the changes above from, up to and including to (the table of semantics 4.4).
func (m *Model) after(f *filter, from, to uint64) []Event {
	first := sort.Search(len(m.changes), func(i int) bool { return m.changes[i].rv > from })
	var events []Event
	for _, c := range m.changes[first:] {
		if c.rv > to {
			break
		}
		was, is := f.matches(c.key, c.before), f.matches(c.key, c.after)
		switch {
		case is && was:
			events = append(events, Event{Type: Modified, Key: c.key, RV: c.rv, Object: c.after.raw})
		case is:
			events = append(events, Event{Type: Added, Key: c.key, RV: c.rv, Object: c.after.raw})
		case was && c.after == nil:
			events = append(events, Event{Type: Deleted, Key: c.key, RV: c.rv, Object: c.gone})
		case was:
			events = append(events, Event{Type: Deleted, Key: c.key, RV: c.rv, Object: c.before.at(c.rv)})
		}
	}
	return events
}

// at is the version's content under another resourceVersion. The first match is metadata's: what comes before it in
// either key order are names, labels and annotations, in whose text a quote would be escaped.
func (v *version) at(rv uint64) []byte {
	return bytes.Replace(v.raw, fmt.Appendf(nil, `"resourceVersion":"%d"`, v.rv), fmt.Appendf(nil, `"resourceVersion":"%d"`, rv), 1)
}

// partial is an object's PartialObjectMetadata.
func partial(object []byte, meta string) ([]byte, error) {
	var p metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &p); err != nil {
		return nil, err
	}
	p.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/" + meta}
	return json.Marshal(&p)
}
