package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// bridge gives a lane the list that it expects.
func bridge(l *Lane, rv RV, list []*Object) error {
	defer l.Expect()()
	return l.Bridge(rv, list)
}

// born returns the object as one with a UID.
func born(o *Object, uid string) *Object {
	text := strings.Replace(textOf(o.Item()), `"metadata":{`, fmt.Sprintf(`"metadata":{"uid":%q,`, uid), 1)
	item, _, err := scanner.Scan(jsonwire.Row{Object: []byte(strings.TrimSpace(text))})
	if err != nil {
		panic(err)
	}
	return NewObject(o.Attributes, o.RV, item)
}

// truth is what the upstream wrote, one write at each RV above that of the lane.
type truth struct {
	*generator
	rv    RV
	there map[string]*Object
	uids  map[string]int
	told  []entry // what a server that missed nothing tells
}

func newTruth(g *generator, rv RV) *truth {
	h := &truth{generator: g, rv: rv, there: map[string]*Object{}, uids: map[string]int{}}
	for key, o := range g.objects(rv) {
		h.there[key] = born(o, fmt.Sprint(key, 0))
	}
	return h
}

// write makes one write: of an object of the lane's resource, or of another.
func (h *truth) write() {
	h.rv++
	h.there = maps.Clone(h.there)
	if h.IntN(3) > 0 {
		o := h.object(h.rv)
		before := h.there[o.Key()]
		defer func() { h.told = append(h.told, entry{rv: h.rv, before: before, now: h.there[o.Key()]}) }()
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

// client is what a reflector keeps, and holds against each event what it must never be told.
type client struct {
	predicate *selectors.Predicate
	rv        RV
	store     map[string]*Object
}

func newClient(p *selectors.Predicate, rv RV, there map[string]*Object) *client {
	c := &client{predicate: p, rv: rv, store: map[string]*Object{}}
	for key, o := range there {
		if p.Matches(&o.Attributes) {
			c.store[key] = o
		}
	}
	return c
}

func (c *client) take(e Event) error {
	key := e.Object.Key()
	was := c.store[key]
	switch {
	case e.RV < c.rv || e.RV == c.rv && e.Type != Deleted || e.Object.RV != e.RV:
		return fmt.Errorf("%s after %d", describe(e), c.rv)
	case (was != nil) != (e.Type != Added):
		return fmt.Errorf("%s of what the client has: %v", describe(e), was != nil)
	case e.Type != Deleted && !c.predicate.Matches(&e.Object.Attributes):
		return fmt.Errorf("%s, which is not selected", describe(e))
	case e.Type == Modified && shape.UID(was.Item()) != shape.UID(e.Object.Item()):
		return fmt.Errorf("%s of another object than the client has", describe(e))
	case e.Type == Deleted && !e.Object.Item().SameObject(was.at(e.RV, shape).Item()):
		return fmt.Errorf("%s with other content than the client has", describe(e))
	}
	c.rv = e.RV
	delete(c.store, key)
	if e.Type != Deleted {
		c.store[key] = e.Object
	}
	return nil
}

// goOn lets the client watch a server that missed nothing. What it is told of may be what it has not any more.
func (c *client) goOn(told []entry) {
	for i := range told {
		e := &told[i]
		switch t, concerned := e.meaning(c.predicate); {
		case e.rv <= c.rv || !concerned:
		case t == Deleted:
			delete(c.store, e.object().Key())
		default:
			c.store[e.now.Key()] = e.now
		}
	}
}

// holds checks that the client has what is there, to the byte.
func (c *client) holds(there map[string]*Object) error {
	want := newClient(c.predicate, 0, there).store
	for key, o := range want {
		if got := c.store[key]; got == nil || !got.Item().Equal(o.Item()) {
			return fmt.Errorf("%s@%d is %v", key, o.RV, got)
		}
	}
	if len(want) != len(c.store) {
		return fmt.Errorf("%d objects, want %d", len(c.store), len(want))
	}
	return nil
}

// TestBridge bridges gaps in random histories. Whoever watches ends with what is there, and was told of each change
// once, of what has changed at its own RV (I11); whoever starts or reads inside the gap is refused (I12).
func TestBridge(t *testing.T) {
	g := newGenerator(t)
	for range 400 {
		h := newTruth(g, 100)
		l := newTestLane(t, laneKinds()[g.one("watch cache", "packed")], h.rv, h.list()...)
		watchers := map[*Watcher]*client{}
		for range 6 {
			p := g.predicate()
			watchers[watch(t, l, p, AfterRV(h.rv))] = newClient(p, h.rv, h.there)
		}
		gap := 1 + g.IntN(60)
		for range gap {
			h.write()
		}
		inside := 100 + RV(1+g.IntN(gap))
		p := g.predicate()
		ahead := watch(t, l, p, AfterRV(inside))
		before := current(t, l)
		if err := bridge(l, h.rv, h.list()); err != nil {
			t.Fatalf("a gap of %d writes: %v", gap, err)
		}
		end := h.rv
		testBridged(t, l, h, before, inside)
		for w, c := range watchers {
			follows(t, w, c, h)
			w.Close()
		}
		_, told := ahead.Next()
		if expired := (*ExpiredError)(nil); inside < end && (told || !errors.As(ahead.Err(), &expired) || expired.Oldest < end) {
			t.Fatalf("a watch that began at %d before the gap to %d was known: %v", inside, h.rv, ahead.Err())
		} else if inside == end && ahead.Err() != nil {
			t.Fatalf("a watch from the end of the gap: %v", ahead.Err())
		}
		ahead.Close()
	}
}

// testBridged reads behind and inside a gap that begins at 100.
func testBridged(t *testing.T, l *Lane, h *truth, before *State, inside RV) {
	t.Helper()
	if err := newClient(everything(t), 0, contentOf(current(t, l))).holds(h.there); err != nil || current(t, l).RV() != h.rv {
		t.Fatalf("the State at %d of %d: %v", current(t, l).RV(), h.rv, err)
	}
	if err := newClient(everything(t), 0, contentOf(at(t, l, 100))).holds(contentOf(before)); err != nil {
		t.Fatalf("the State before the gap: %v", err)
	}
	for rv := inside; rv < h.rv; rv += 7 {
		var expired *ExpiredError
		if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) || expired.Oldest != h.rv {
			t.Fatalf("at %d, inside the gap to %d: %v", rv, h.rv, err)
		}
		if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
			t.Fatalf("a watch from %d, inside the gap to %d: %v, %v", rv, h.rv, w, err)
		}
	}
	late := watch(t, l, everything(t), AfterRV(100)) // as one whose connection broke off before
	follows(t, late, newClient(everything(t), 100, contentOf(before)), h)
	late.Close()
	h.write()
	h.write()
	if err := bridge(l, h.rv, h.list()); err != nil { // another gap, behind the first
		t.Fatal(err)
	}
}

func everything(t testing.TB) *selectors.Predicate { return selecting(t, "", "", "") }

func contentOf(s *State) map[string]*Object {
	all := map[string]*Object{}
	for o := range s.Objects(Span{}) {
		all[o.Key()] = o
	}
	return all
}

// follows reads all that a watcher has to say.
func follows(t *testing.T, w *Watcher, c *client, h *truth) {
	t.Helper()
	w.epoch.running.Wait()
	told := map[string]int{}
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		if err := c.take(e); err != nil {
			t.Fatalf("watch of %s: %v", c.predicate, err)
		}
		told[fmt.Sprint(e.Type == Deleted, e.Object.Key(), shape.UID(e.Object.Item()))]++
		if _, in := w.epoch.history.gapAt(e.RV); in && w.Landing() <= e.RV || w.Landing() > 0 && !lands(w, e.RV) {
			t.Fatalf("%s lands at %d", describe(e), w.Landing())
		}
	}
	if err := errors.Join(w.Err(), c.holds(h.there)); err != nil {
		t.Fatalf("watch of %s: %v", c.predicate, err)
	}
	if w.Progress() != h.rv {
		t.Fatalf("progress is %d, the gap ended at %d", w.Progress(), h.rv)
	}
	for id, n := range told {
		if n > 2 { // two gaps
			t.Fatalf("%s was told %d times", id, n)
		}
	}
}

// lands tells whether the watcher stands in a gap, or behind what it is told first of it, and lands at its end.
func lands(w *Watcher, rv RV) bool {
	return slices.ContainsFunc(w.epoch.history.held.Load().gaps, func(g gap) bool {
		return g.after <= rv && rv < g.upTo && w.Landing() == g.upTo
	})
}

// at100 are the objects of the tests below, at 100.
func at100() []*Object {
	return []*Object{
		born(pod("a/same", 5, "n1", "x"), "1"), born(pod("a/changes", 50, "n1", "x"), "2"), born(pod("a/goes", 60, "n1", "x"), "3"),
		born(pod("a/leaves", 61, "n1", "x"), "4"), born(pod("a/enters", 62, "n2", "y"), "5"), born(pod("a/again", 63, "n1", "x"), "6"),
		born(pod("b/goes", 70, "n1", "x"), "7"),
	}
}

// at110 are they at 110.
func at110() []*Object {
	return []*Object{
		born(pod("a/same", 5, "n1", "x"), "1"), born(pod("a/changes", 109, "n1", "x"), "2"), born(pod("a/leaves", 104, "n1", "y"), "4"),
		born(pod("a/enters", 103, "n2", "x"), "5"), born(pod("a/again", 106, "n1", "x"), "60"), born(pod("a/new", 105, "n3", "x"), "8"),
	}
}

func TestBridgeTells(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	all, x := watch(t, l, everything(t), AfterRV(100)), watch(t, l, selecting(t, "", "app=x", ""), AfterRV(100))
	if err := bridge(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	equal(t, "everything", drained(all), []string{
		"DELETED a/again@100 n1 x", "DELETED a/goes@100 n1 x", "DELETED b/goes@100 n1 x", "MODIFIED a/enters@103 n2 x",
		"MODIFIED a/leaves@104 n1 y", "ADDED a/new@105 n3 x", "ADDED a/again@106 n1 x", "MODIFIED a/changes@109 n1 x",
	})
	equal(t, "selected", drained(x), []string{
		"DELETED a/again@100 n1 x", "DELETED a/goes@100 n1 x", "DELETED b/goes@100 n1 x", "DELETED a/leaves@100 n1 x",
		"ADDED a/enters@103 n2 x", "ADDED a/new@105 n3 x", "ADDED a/again@106 n1 x", "MODIFIED a/changes@109 n1 x",
	})
	if s := l.Stats(); s.Bridged != 1 || s.Relists != 1 || s.RV != 110 {
		t.Errorf("%+v", s)
	}
	same, _ := current(t, l).Get("a/same")
	if was, _ := at(t, l, 100).Get("a/same"); was != same {
		t.Error("what is the same takes memory twice")
	}
	apply(t, l, Upsert, born(pod("a/new", 111, "n1", ""), "8"))
	equal(t, "later", drained(x), []string{"DELETED a/new@111 n3 x"})
}

// A list that cannot be told is refused, and nothing of it taken.
func TestBridgeRefuses(t *testing.T) {
	replaced := func(key string, by ...*Object) []*Object {
		list := slices.DeleteFunc(at110(), func(o *Object) bool { return o.Key() == key })
		return append(list, by...)
	}
	for name, c := range map[string]struct {
		rv   RV
		list []*Object
		want error
	}{
		"a backup of before":            {99, nil, ErrSetBack},
		"an object of before":           {110, replaced("a/changes", born(pod("a/changes", 49, "n1", "x"), "2")), ErrOtherPast},
		"other content at one version":  {110, replaced("a/same", born(pod("a/same", 5, "n2", "x"), "1")), ErrOtherPast},
		"another object at one version": {110, replaced("a/same", born(pod("a/same", 5, "n1", "x"), "9")), ErrOtherPast},
		"what was not there":            {110, replaced("", born(pod("c/old", 90, "n1", "x"), "9")), ErrOtherPast},
		"what changed before":           {110, replaced("a/changes", born(pod("a/changes", 90, "n1", "x"), "2")), ErrOtherPast},
		"two objects at one version":    {110, replaced("a/changes", born(pod("a/changes", 105, "n1", "x"), "2")), ErrOtherPast},
		"from after the list":           {108, at110(), ErrOtherPast},
		"at the same version":           {100, at110(), ErrOtherPast},
		"gone at the same version":      {100, at100()[1:], ErrOtherPast},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLane(t, podOptions, 100, at100()...)
			w, s := watch(t, l, everything(t), FromNow()), current(t, l)
			if err := bridge(l, c.rv, c.list); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if said := drained(w); current(t, l) != s || len(said) > 0 || w.Err() != nil || l.Stats().Bridged > 0 {
				t.Errorf("something was taken: %v, %v", said, w.Err())
			}
		})
	}
	if err := bridge(NewLane(podOptions), 1, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("without a list: %v", err)
	}
	closed := newTestLane(t, podOptions, 1)
	closed.Close()
	if err := bridge(closed, 1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestBridgeCutOff has clients cut off after each event of a gap. Wherever that is, one that goes on at a server which
// missed nothing ends with what is there, and so does one that comes back, unless it is told that it cannot.
func TestBridgeCutOff(t *testing.T) {
	g, deletions := newGenerator(t), 0
	for range 100 {
		h := newTruth(g, 100)
		l, began, p := newTestLane(t, podOptions, h.rv, h.list()...), h.there, g.predicate()
		for range 2 + g.IntN(40) {
			h.write()
		}
		if err := bridge(l, h.rv, h.list()); err != nil {
			t.Fatal(err)
		}
		for cut := 0; ; cut++ {
			w, c := watch(t, l, p, AfterRV(100)), newClient(p, 100, began)
			told := 0
			for e, ok := w.Next(); ok && told < cut; e, ok = w.Next() {
				if err := c.take(e); err != nil {
					t.Fatal(err)
				}
				if told++; e.Type == Deleted {
					deletions++
				}
			}
			w.Close()
			again, err := l.Watch(WatchOptions{Predicate: p, Start: AfterRV(c.rv)})
			if err == nil {
				back := client{predicate: p, rv: c.rv, store: maps.Clone(c.store)}
				for e, ok := again.Next(); ok; e, ok = again.Next() {
					back.goOn([]entry{{rv: c.rv + 1, before: e.Object, now: map[bool]*Object{true: e.Object}[e.Type != Deleted]}})
				}
				if err := back.holds(h.there); err != nil {
					t.Fatalf("cut off after %d events, at %d, and back: %v", cut, c.rv, err)
				}
				again.Close()
			} else if expired := (*ExpiredError)(nil); !errors.As(err, &expired) || c.rv == 100 {
				t.Fatalf("a watch from %d, where a client was cut off: %v", c.rv, err)
			}
			c.goOn(h.told)
			if err := c.holds(h.there); err != nil {
				t.Fatalf("cut off after %d events, at %d, and on elsewhere: %v", cut, c.rv, err)
			}
			if told < cut {
				break
			}
		}
	}
	if deletions == 0 {
		t.Error("no client was told of a deletion")
	}
}

// A gap that has room for one write is none: what it was is known, and when.
func TestBridgeOfOneWrite(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(100), Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(bridge(l, 100, at100()), bridge(l, 101, at100()[1:])); err != nil {
		t.Fatal(err)
	}
	list := append(at100()[2:], born(pod("a/changes", 102, "n1", "y"), "2"))
	if err := bridge(l, 102, list); err != nil {
		t.Fatal(err)
	}
	equal(t, "told", drained(w), []string{"DELETED a/same@101 n1 x", "MODIFIED a/changes@102 n1 y"})
	if w.Err() != nil || w.Landing() > 0 || w.Progress() != 102 {
		t.Errorf("%v, landing at %d, progress %d", w.Err(), w.Landing(), w.Progress())
	}
	if err := bridge(l, 103, at100()[4:]); err != nil { // more is gone than one write deletes
		t.Fatal(err)
	}
	if _, told := w.Next(); told || w.Err() == nil {
		t.Error("an exact watcher goes on over a gap")
	}
	back := watch(t, l, everything(t), AfterRV(102))
	equal(t, "back", drained(back), []string{
		"DELETED a/changes@102 n1 y", "DELETED a/goes@102 n1 x", "DELETED a/leaves@102 n1 x",
	})
}

// A lane without events meets gap after gap: it does not keep them all.
func TestBridgeManyGaps(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w := watch(t, l, everything(t), AfterRV(100))
	const many = mostGaps + 50
	for i := range RV(many) {
		if err := bridge(l, 110+10*i, at100()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(l.state.Load().epoch.history.held.Load().gaps); got != mostGaps {
		t.Errorf("%d gaps are kept", got)
	}
	for _, rv := range []RV{100, 100 + 10*51, 100 + 10*many} {
		if _, err := l.At(t.Context(), rv, 0); err != nil {
			t.Errorf("at %d: %v", rv, err)
		}
	}
	var expired *ExpiredError
	for _, rv := range []RV{110, 115, 100 + 10*51 + 5} {
		if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) {
			t.Errorf("at %d: %v", rv, err)
		}
	}
	if said := drained(w); len(said) > 0 || w.Err() != nil || w.Progress() != 100+10*many {
		t.Errorf("%v, %v, progress %d", said, w.Err(), w.Progress())
	}
}

// TestBridgeBehindWhatIsCancelledOut: at 110 the upstream is as it was at 100, as was shown by other means; the events
// in between came in part. Watches that have seen them are told that they were cancelled out, and those from 110 on
// have nothing to be told of.
func TestBridgeBehindWhatIsCancelledOut(t *testing.T) {
	for name, vouch := range map[string]func(*Lane, *State){
		"first": func(l *Lane, s *State) {
			l.Vouch(s, 110)
			apply(t, l, Upsert, born(pod("a/fleeting", 101, "n1", "x"), "9"))
		},
		"behind": func(l *Lane, s *State) {
			apply(t, l, Upsert, born(pod("a/fleeting", 101, "n1", "x"), "9"))
			l.Vouch(s, 110)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLane(t, podOptions, 100, at100()...)
			s, all := current(t, l), watch(t, l, everything(t), AfterRV(100))
			l.Vouch(s, 104)
			vouch(l, s)
			ahead := watch(t, l, everything(t), AfterRV(110))
			if err := bridge(l, 200, at100()[1:]); err != nil {
				t.Fatal(err)
			}
			equal(t, "from before", drained(all), []string{
				"ADDED a/fleeting@101 n1 x", "DELETED a/fleeting@101 n1 x", "DELETED a/same@110 n1 x",
			})
			equal(t, "from 110", drained(ahead), []string{"DELETED a/same@110 n1 x"})
			if _, there := at(t, l, 110).Get("a/fleeting"); there {
				t.Error("what was cancelled out is there at 110")
			}
			var expired *ExpiredError
			for _, rv := range []RV{102, 104, 109, 111, 199} { // 104: what was there is not the State any more
				if _, err := l.At(t.Context(), rv, 0); !errors.As(err, &expired) {
					t.Errorf("at %d: %v", rv, err)
				}
				if w, err := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); !errors.As(err, &expired) {
					t.Errorf("a watch from %d: %v, %v", rv, w, err)
				}
			}
		})
	}
}

// TestBridgeBehindProofsThatCross: of two proofs the one for the later version was made of an earlier State. What was
// vouched for between that and what was written is not to be relied upon, and what is gone is told to all.
func TestBridgeBehindProofsThatCross(t *testing.T) {
	for _, crossed := range []bool{false, true} {
		l := newTestLane(t, podOptions, 100, at100()...)
		before := current(t, l)
		if !crossed {
			l.Vouch(before, 120)
		}
		apply(t, l, Upsert, born(pod("a/fleeting", 105, "n1", "x"), "9"))
		written, err := l.Latest()
		if !crossed {
			written, err = l.state.Load(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		at110 := l.Vouch(written, 110)
		if (at110 == nil) == crossed {
			t.Errorf("crossed before %t: what was vouched for at 110 is %v", crossed, at110)
		}
		if crossed {
			l.Vouch(before, 120) // an answer that comes last
		}
		watchers := map[string]*Watcher{"from 105": watch(t, l, everything(t), AfterRV(105))}
		if at110 != nil {
			watchers["from 110"] = watch(t, l, everything(t), AfterRV(110))
		}
		if err := bridge(l, 130, at100()); err != nil {
			t.Fatal(err)
		}
		for name, w := range watchers {
			if said := drained(w); len(said) != 1 || !strings.HasPrefix(said[0], "DELETED a/fleeting@") {
				t.Errorf("crossed before %t, %s: %v", crossed, name, said)
			}
		}
		if at110 == nil {
			continue
		}
		if s, err := l.At(t.Context(), 110, 0); err == nil && s.Len() != at110.Len() {
			t.Errorf("at 110 there are %d objects, and were %d", s.Len(), at110.Len())
		}
	}
}

// What was vouched for is known inside the gap: clients that read there go on, and nobody else does.
func TestBridgeBehindWhatWasVouchedFor(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	list := watch(t, l, everything(t), AfterRV(100))
	s := l.Vouch(current(t, l), 102)
	first := watch(t, l, everything(t), AfterRV(102))
	initial := watch(t, l, selecting(t, "b", "", ""), InitialEvents(s))
	between := watch(t, l, everything(t), AfterRV(103))
	l.Vouch(s, 105)
	if err := bridge(l, 110, at110()); !errors.Is(err, ErrOtherPast) {
		t.Fatalf("at 103 something has changed, and at 105 nothing had: %v", err)
	}
	if err := bridge(l, 110, at100()[1:]); err != nil {
		t.Fatal(err)
	}
	gone := []string{"DELETED a/same@105 n1 x"}
	for name, w := range map[string]*Watcher{"since the list": list, "since it was vouched for": first} {
		equal(t, name, drained(w), gone)
	}
	equal(t, "initial events", drained(initial), []string{"ADDED b/goes@70 n1 x", "BOOKMARK@102"})
	var expired *ExpiredError
	if _, told := between.Next(); told || !errors.As(between.Err(), &expired) || expired.Oldest != 110 || expired.Requested != 103 {
		t.Errorf("since between: %v", between.Err())
	}
	for rv := RV(100); rv <= 110; rv++ {
		known := rv == 100 || rv == 102 || rv == 105 || rv == 110
		_, err := l.At(t.Context(), rv, 0)
		if w, watchErr := l.Watch(WatchOptions{Predicate: everything(t), Start: AfterRV(rv)}); known {
			if err != nil || watchErr != nil || rv < 110 && !slices.Equal(drained(w), gone) {
				t.Errorf("at %d, which is known: %v, %v", rv, err, watchErr)
			}
			w.Close()
		} else if !errors.As(err, &expired) || !errors.As(watchErr, &expired) {
			t.Errorf("at %d, which is not known: %v, %v", rv, err, watchErr)
		}
	}
	if l.Vouch(s, 107) != nil {
		t.Error("an old State was vouched for inside the gap")
	}
}

// An event inside a gap lets nobody claim to be complete, and its watcher is owed a bookmark behind it (I12).
func TestInsideGapsNothingIsComplete(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	w := watch(t, l, selecting(t, "", "", "metadata.name=enters"), AfterRV(100))
	if err := bridge(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	w.epoch.running.Wait()
	if e, ok := w.Next(); !ok || e.RV != 103 || w.Landing() != 110 || w.Progress() > 100 {
		t.Fatalf("%v, landing at %d, progress %d", e, w.Landing(), w.Progress())
	}
	if _, ok := w.Next(); ok || w.Progress() != 110 || w.Landing() != 110 {
		t.Fatalf("landing at %d, progress %d", w.Landing(), w.Progress())
	}
	apply(t, l, Upsert, born(pod("a/enters", 111, "n2", "x"), "5"))
	if said := drained(w); len(said) != 1 || w.Landing() != 0 || w.Progress() != 111 {
		t.Errorf("%v, landing at %d, progress %d", said, w.Landing(), w.Progress())
	}
}

// Who makes a lane of the events is told that there is a gap, also when nothing was lost that it selects.
func TestExactWatchersEndAtGaps(t *testing.T) {
	l := newTestLane(t, podOptions, 100, at100()...)
	exact := func(start Start) (*Watcher, error) {
		return l.Watch(WatchOptions{Predicate: selecting(t, "none", "", ""), Start: start, Exact: true})
	}
	before, s := []*Watcher{}, current(t, l)
	for _, start := range []Start{AfterRV(100), FromNow(), InitialEvents(s)} {
		w, err := exact(start)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		before = append(before, w)
	}
	if err := bridge(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	var expired *ExpiredError
	for i, w := range before {
		<-w.Wait()
		for _, ok := w.Next(); ok; _, ok = w.Next() {
		}
		if !errors.As(w.Err(), &expired) || expired.Oldest != 110 {
			t.Errorf("exact watcher %d: %v", i, w.Err())
		}
	}
	for _, start := range []Start{AfterRV(100), InitialEvents(s)} {
		if w, err := exact(start); !errors.As(err, &expired) {
			t.Errorf("a watch over the gap: %v, %v", w, err)
		}
	}
	for _, start := range []Start{AfterRV(110), InitialEvents(current(t, l)), FromNow()} {
		w, err := exact(start)
		if err != nil {
			t.Fatal(err)
		}
		if w.Next(); w.Err() != nil && start.initial == nil {
			t.Errorf("a watch behind the gap: %v", w.Err())
		}
		w.Close()
	}
}

// Deletions at one RV may be missing when the upstream is lost: nobody reads there, and the rest is told later.
func TestBridgeAmongDeletions(t *testing.T) {
	o := podOptions
	o.ReadFromEtcd = true
	l := newTestLane(t, o, 100, at100()...)
	w := watch(t, l, everything(t), AfterRV(100))
	apply(t, l, Delete, born(pod("a/goes", 101, "n1", "x"), "3"))
	if err := bridge(l, 110, at110()); err != nil {
		t.Fatal(err)
	}
	if said := drained(w); len(said) != 8 || said[0] != "DELETED a/goes@101 n1 x" || said[2] != "DELETED b/goes@101 n1 x" {
		t.Errorf("%v", said)
	}
	var expired *ExpiredError
	if _, err := l.At(t.Context(), 101, 0); !errors.As(err, &expired) {
		t.Errorf("at 101, where more may have gone: %v", err)
	}
	if s := at(t, l, 100); s.Len() != 7 {
		t.Errorf("at 100: %d objects", s.Len())
	}
}
