package assess

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
)

// mostUses is the maximum number of uses that are kept. At the maximum, the cheaper half is added to the uses of the
// client Others. The number of requests stays exact.
const mostUses = 1 << 14

// tally sums the events of a log. Its memory is bounded. Used by one goroutine.
type tally struct {
	seed     maphash.Seed
	uses     map[uint64]*use
	others   map[string]*use // by verb
	folded   int             // uses that were added to others
	writes   map[resource]*changes
	from, to time.Time
	origin   time.Time // time of the first event that was read
	early    int       // number of elements in watchTimes.early of all uses
}

type resource struct{ group, name string }

// changes are the successful writes of a resource.
type changes struct {
	count      int
	namespaces map[uint64]struct{} // hashes of the first namespaces, at most mostNamespaces
}

// mostNamespaces and mostResources bound the memory of changes.
const (
	mostNamespaces = 1 << 10
	mostResources  = 1 << 10
)

// mostEarly bounds the memory of watchTimes.early. Above it, the earliest event so far counts as the start of the log.
const mostEarly = 1 << 18

func newTally() *tally {
	return &tally{
		seed: maphash.MakeSeed(), uses: map[uint64]*use{}, others: map[string]*use{}, writes: map[resource]*changes{},
	}
}

func (t *tally) add(events []auditlog.Event) {
	for i := range events {
		e := &events[i]
		if t.origin.IsZero() {
			t.origin, t.from = e.At, e.At
		}
		if e.At.Before(t.from) {
			t.from = e.At
		}
		if e.At.After(t.to) {
			t.to = e.At
		}
		key := rawOf(e)
		digest := key.digest(t.seed)
		u := t.uses[digest]
		if u == nil {
			if len(t.uses) >= mostUses {
				t.shrink()
			}
			u = key.use()
			t.uses[digest] = u
		}
		u.add(e, t)
		t.change(e)
	}
}

// start returns the time of the earliest event so far, relative to origin.
func (t *tally) start() time.Duration { return t.from.Sub(t.origin) }

// ended adds a watch that ended.
func (t *tally) ended(w *watchTimes, s span) {
	if s.from < t.start() && t.early < mostEarly {
		w.early = append(w.early, s)
		t.early++
		return
	}
	w.end(s, t.start())
}

// change counts a write. A successful write of a stored object is usually an event for the watches of its resource.
func (t *tally) change(e *auditlog.Event) {
	if e.Stage != auditlog.Complete || e.Code >= 400 || isRead(e.Verb) || len(e.Resource) == 0 || !stored(e) {
		return
	}
	of := t.writes[resource{string(e.Group), string(e.Resource)}] // a look-up does not copy these texts
	if of == nil {
		if len(t.writes) == mostResources {
			return
		}
		of = &changes{namespaces: map[uint64]struct{}{}}
		t.writes[resource{string(e.Group), string(e.Resource)}] = of
	}
	of.count++
	if len(of.namespaces) < mostNamespaces {
		of.namespaces[maphash.Bytes(t.seed, e.Namespace)] = struct{}{}
	}
}

// stored reports whether a write changes a stored object of the resource. Reviews, tokens and connections do not.
func stored(e *auditlog.Event) bool {
	switch string(e.Group) {
	case "authentication.k8s.io", "authorization.k8s.io":
		return false
	}
	switch string(e.Subresource) {
	case "", "status", "scale", "binding", "eviction", "ephemeralcontainers", "resize", "approval", "finalize":
		return true
	}
	return false
}

func (t *tally) shrink() {
	type entry struct {
		digest uint64
		weight time.Duration
	}
	all := make([]entry, 0, len(t.uses))
	for digest, u := range t.uses {
		all = append(all, entry{digest, u.weight()})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.weight, b.weight) })
	for _, cheap := range all[:len(all)/2] {
		t.fold(t.uses[cheap.digest])
		delete(t.uses, cheap.digest)
	}
}

func (t *tally) fold(u *use) {
	t.folded++
	t.early -= len(u.watches.early)
	u.watches.settle(t.start())
	verb := u.verb
	switch verb {
	case getVerb, listVerb, watchVerb:
	default:
		verb = "other"
	}
	o := t.others[verb]
	if o == nil {
		o = &use{Client: Client{User: Others}, verb: verb, resource: Others}
		t.others[verb] = o
	}
	o.fold(u)
}

// all returns all uses. It must be called once, after the last event.
func (t *tally) all() []*use {
	all := make([]*use, 0, len(t.uses)+len(t.others))
	for _, u := range t.uses {
		u.watches.settle(t.start())
		all = append(all, u)
	}
	for _, u := range t.others {
		all = append(all, u)
	}
	return all
}

func (t *tally) length() time.Duration { return t.to.Sub(t.from) }
