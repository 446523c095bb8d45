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

// Model is the history of one resource, as kube-apiserver's watch reports it: all objects at one resourceVersion and
// every change since. It is simple and slow on purpose.
type Model struct {
	scope    *filter
	from, to uint64
	base     map[string]*version // the objects at from
	changes  []change            // in order, above from
}

type version struct {
	raw     []byte
	content map[string]any
	rv      uint64
}

// change is one write. before is nil for a creation, after is nil for a deletion. gone is the object in the DELETED
// event.
type change struct {
	rv            uint64
	key           string
	before, after *version
	gone          []byte
}

// NewModel returns the model of a watch with initial events and bookmarks, in plain JSON. The watch may be of one
// namespace. It may have a label selector only if no object gains or loses these labels, because the model lacks
// objects that are not selected.
func NewModel(r *Recording) (*Model, error) {
	scope, err := newFilter(r.Question)
	if err != nil || !scope.fields.Empty() || !scope.marked {
		return nil, fmt.Errorf("%s: a model needs a watch with initial events and bookmarks, and no field selector (%w)",
			r.Question, err)
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
		return nil, errors.New("the model's watch has no bookmark that ends its initial events")
	}
	return m, nil
}

// Close declares that the model is complete for the version since and all later versions.
func (m *Model) Close(since uint64) {
	m.from = min(m.from, since)
	m.to = math.MaxUint64
}

// Expected returns the number of events, without bookmarks, that a watch must send up to the end of the model. If the
// question does not name a start, opened is the version at which the watch starts.
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

// state returns the objects at rv, by key.
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

// initial returns the initial events of a streaming list at rv, in key order.
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

// after returns the events of a watch for the changes above version from, up to version to (table in semantics 4.4).
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

// at returns the version's content with another resourceVersion. The first match is in metadata, because only names,
// labels and annotations come before it, and quotes in them are escaped.
func (v *version) at(rv uint64) []byte {
	return bytes.Replace(v.raw, fmt.Appendf(nil, `"resourceVersion":"%d"`, v.rv),
		fmt.Appendf(nil, `"resourceVersion":"%d"`, rv), 1)
}

func partial(object []byte, meta string) ([]byte, error) {
	var p metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &p); err != nil {
		return nil, err
	}
	p.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/" + meta}
	return json.Marshal(&p)
}
