package cache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// born returns the object with a UID.
func born(o *Object, uid string) *Object {
	text := strings.Replace(textOf(o.Item()), `"metadata":{`, fmt.Sprintf(`"metadata":{"uid":%q,`, uid), 1)
	item, _, err := scanner.Scan(jsonwire.Row{Object: []byte(strings.TrimSpace(text))})
	if err != nil {
		panic(err)
	}
	return NewObject(o.Attributes, o.RV, item)
}

// truth is the upstream, with one write at each RV above that of the lane.
type truth struct {
	*generator
	rv     RV
	there  map[string]*Object
	uids   map[string]int
	events []entry // events of a server that missed nothing
}

func newTruth(g *generator, rv RV) *truth {
	h := &truth{generator: g, rv: rv, there: map[string]*Object{}, uids: map[string]int{}}
	for key, o := range g.objects(rv) {
		h.there[key] = born(o, fmt.Sprint(key, 0))
	}
	return h
}

// write writes once: an object of the lane's resource, or of another.
func (h *truth) write() {
	h.rv++
	h.there = maps.Clone(h.there)
	if h.IntN(3) > 0 {
		o := h.object(h.rv)
		before := h.there[o.Key()]
		defer func() { h.events = append(h.events, entry{rv: h.rv, before: before, now: h.there[o.Key()]}) }()
		switch h.IntN(3) {
		case 0:
			delete(h.there, o.Key())
		default:
			if h.there[o.Key()] == nil {
				h.uids[o.Key()]++
			}
			h.there[o.Key()] = born(o, fmt.Sprint(o.Key(), h.uids[o.Key()]))
		}
	}
}

func (h *truth) list() []*Object { return slices.Collect(maps.Values(h.there)) }

// client is a reflector's store, which rejects events that contradict it.
type client struct {
	predicate *selectors.Predicate
	rv        RV
	store     map[string]*Object
}

func everything(t testing.TB) *selectors.Predicate { return selecting(t, "", "", "") }

func contentOf(s *State) map[string]*Object {
	all := map[string]*Object{}
	for o := range s.Objects(Span{}) {
		all[o.Key()] = o
	}
	return all
}
