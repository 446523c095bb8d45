package cache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// TestFeedsAreAnchoredAtTheRarestRequirement: a feed's anchor is the requirement that the fewest objects fulfil. There
// is no anchor when more than half fulfil it.
func TestFeedsAreAnchoredAtTheRarestRequirement(t *testing.T) {
	var objects []*Object
	for i := range 1000 {
		namespace, tier := "a", "5"
		if i%3 == 0 {
			namespace, tier = "b", fmt.Sprint("t", i%30)
		}
		o := pod(fmt.Sprintf("%s/p%d", namespace, i), RV(i+1), fmt.Sprint("n", i), "x")
		objects = append(objects, labelled(o, selectors.Label{Key: "tier", Value: tier}))
	}
	l := newTestLane(t, Options{}, 2000, objects...)
	e := l.state.Load().epoch
	e.sampled.Store(&sample{seq: e.newest.Load().seq, objects: objects}) // all objects instead of a random sample
	for _, c := range []struct{ namespace, labels, fields, want string }{
		{"", "", "", "nothing"},
		{"", "app!=x", "", "nothing"},
		{"", "!other", "", "nothing"},
		{"", "app=x", "", "nothing"},
		{"", "app", "", "nothing"},
		{"", "app=y", "", "app [y]"},
		{"", "other", "", "other present"},
		{"", "other>5", "", "other present"},
		{"a", "", "", "nothing"},
		{"b", "", "", "field [b]"},
		{"b", "tier=t3", "", "tier [t3]"},
		{"a", "tier=5", "", "nothing"},
		{"", "app=x,tier in (t3,t6,t3)", "", "tier [t3 t6]"},
		{"", "app=x,other in (a,b,c)", "", "other [a b c]"},
		{"", "app in (" + manyValues + ",z)", "", "nothing"},
		{"", "other in (" + manyValues + ",z)", "", "other present"},
		{"", "app=x", "spec.nodeName=n7", "field [n7]"},
		{"b", "", "metadata.name=p3", "key [b/p3]"},
		{"", "", "metadata.name=p3", "field [p3]"},
		{"", "tier in (5),tier in (t3)", "", "tier []"},
	} {
		w := watch(t, l, selecting(t, c.namespace, c.labels, c.fields), FromNow())
		equal(t, fmt.Sprintf("anchor of %q %q %q", c.namespace, c.labels, c.fields), w.feed.anchor.String(), c.want)
	}
	apply(t, l, Upsert, pod("c/p", 2001, "", ""))
}

func (at *anchor) String() string {
	key, isLabel := at.property.Label()
	if !isLabel {
		key = "field"
	}
	switch at.by {
	case byNothing:
		return "nothing"
	case byKey:
		return fmt.Sprint("key ", at.values)
	case byPresence:
		return key + " present"
	default:
		return fmt.Sprint(key, " ", at.values)
	}
}

// TestEveryMatchIsOffered compares the events of feeds, anchored by various samples, with each predicate's result for
// the objects before and after.
func TestEveryMatchIsOffered(t *testing.T) {
	g := newGenerator(t)
	for range 300 {
		objects := g.objects(10)
		l := newTestLane(t, Options{}, 10, slices.Collect(maps.Values(objects))...)
		e := current(t, l).epoch
		for range 40 {
			watch(t, l, g.predicate(), FromNow())
		}
		c := g.change(11, objects)
		before := objects[c.Object.Key()]
		apply(t, l, c.Kind, c.Object)
		if c.Kind == Delete && before == nil {
			continue
		}
		event := &entry{before: before, now: c.Object}
		if c.Kind == Delete {
			event.now = nil
		}
		for _, d := range e.feeds.byPredicate {
			_, concerned := event.meaning(d.predicate)
			if got := d.tail.Load().filled.Load(); got > 1 || (got == 1) != concerned {
				t.Errorf("%s at %v: got %d events, want one: %t", d.predicate, &d.anchor, got, concerned)
			}
		}
		l.Close()
	}
}

// TestFeedsMayComeAndGoDuringAnEvent: each event concerns more feeds than one round evaluates, and watches begin and
// end between rounds. Each watcher receives every matching event once (I3, I5).
func TestFeedsMayComeAndGoDuringAnEvent(t *testing.T) {
	g := newGenerator(t)
	for i := range 2 * evaluatedAtOnce {
		g.predicates = append(g.predicates, selecting(t, "", fmt.Sprintf("app=x,team!=t%d", i), ""),
			selecting(t, "", fmt.Sprintf("team!=t%d", i), ""), selecting(t, "", fmt.Sprintf("tier in (5,b),team!=t%d", i), ""))
	}
	l, e := steppedLane(t)
	r := &modelRun{T: t, generator: g, model: newModel(1, map[string]*Object{}), lane: l}
	for range settings.Amount(2000, 8000) {
		switch n := g.IntN(100); {
		case n < 4:
			c := g.change(r.model.rv+1, r.model.newest().objects)
			r.model.change(c)
			apply(t, l, c.Kind, c.Object)
		case n < 30:
			r.watch()
		case n < 40 && len(r.watchers) > 3*evaluatedAtOnce:
			r.closeAny(e)
		case n < 70:
			e.follow(e.newest.Load())
		case len(r.watchers) > 0:
			r.peek(g.IntN(len(r.watchers)))
		}
	}
	settle(e)
	if err := e.feeds.verify(e.newest.Load()); err != nil {
		t.Error(err)
	}
	for i := range r.watchers {
		r.read(i, 1<<30)
	}
	for len(r.watchers) > 0 {
		r.close(0)
	}
}

// steppedLane returns an empty lane at RV 1 whose feeds get events only when the test says so.
func steppedLane(t *testing.T) (*Lane, *epoch) {
	l := NewLane(Options{HistoryBytes: 1 << 40})
	l.verifying = false
	l.Replace(1, shape, nil)
	e := current(t, l).epoch
	e.dispatching.Store(true)
	return l, e
}

// settle brings the feeds up to date.
func settle(e *epoch) {
	for e.follow(e.newest.Load()) {
		continue
	}
}

// closeAny closes a watcher. Its feed may be the next one to evaluate.
func (r *modelRun) closeAny(e *epoch) {
	i := r.IntN(len(r.watchers))
	if at := e.feeds.anchored.at; at != nil && r.IntN(2) == 0 {
		i = max(0, slices.IndexFunc(r.watchers, func(w *modelWatch) bool { return w.feed == at.feed }))
	}
	r.close(i)
}

// peek reads the events that a watcher has so far; the feeds may still lack some.
func (r *modelRun) peek(i int) {
	w := r.watchers[i]
	want := append(slices.Clone(w.initial), r.model.watch(w.from, w.predicate)...)
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		if w.got == len(want) || want[w.got].text != describe(e) {
			r.Fatalf("watch of %s from %d: got event %d %s, want %v", w.predicate, w.from, w.got, describe(e), want[w.got:])
		}
		w.got++
	}
	if w.got < len(want) && want[w.got].rv <= w.Progress() {
		r.Fatalf("watch of %s: got progress %d, want the event %v before it", w.predicate, w.Progress(), want[w.got])
	}
}

// TestFeedsAreEvaluatedInRounds: opening or closing a watch waits for a bounded number of predicates, whatever the
// number of feeds and their anchors (I8).
func TestFeedsAreEvaluatedInRounds(t *testing.T) {
	for name, selector := range map[string]string{"no anchor": "team!=t", "one anchor": "app=x,team!=t", "several": "app in (x,y),team!=t"} {
		t.Run(name, func(t *testing.T) {
			feeds := settings.Amount(1000, 3000)
			l, e := steppedLane(t)
			watchers := make([]*Watcher, feeds)
			for i := range watchers {
				watchers[i] = watch(t, l, selecting(t, "", fmt.Sprint(selector, i), ""), FromNow())
			}
			apply(t, l, Upsert, pod("a/a", 2, "", "x"))
			for more, evaluated := true, 0; more; {
				more = e.follow(e.newest.Load())
				now := 0
				for _, w := range watchers {
					now += int(w.feed.tail.Load().filled.Load())
				}
				if now-evaluated > evaluatedAtOnce {
					t.Fatalf("got %d feeds evaluated in a round, want at most %d", now-evaluated, evaluatedAtOnce)
				}
				evaluated = now
			}
			for _, w := range watchers {
				equal(t, "events", strings.Join(drained(w), " "), "ADDED a/a@2  x")
			}
		})
	}
}

// TestAnchoredFeedsDoNotWaitForOthers: a watch whose feed has an anchor receives its events before all feeds without an
// anchor were evaluated.
func TestAnchoredFeedsDoNotWaitForOthers(t *testing.T) {
	l, e := steppedLane(t)
	for i := range 10 * evaluatedAtOnce {
		watch(t, l, selecting(t, "", fmt.Sprint("team!=t", i), ""), FromNow())
	}
	one := watch(t, l, selecting(t, "", "app=x", ""), FromNow())
	for rv := RV(2); rv < 12; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", "x"))
	}
	e.follow(e.newest.Load())
	equal(t, "events", len(drained(one)), 10)
	equal(t, "progress", one.Progress(), RV(11))
	if e.feeds.unanchored.next > 2 {
		t.Errorf("got %d events in feeds without an anchor, want at most 2", e.feeds.unanchored.next)
	}
	settle(e)
}
