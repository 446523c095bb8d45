package cache

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// model is a simple lane: it keeps all versions in slices and searches all of them.
type model struct {
	began    RV // of the epoch
	rv       RV
	deleted  RV           // RV of the last deletion if more may come at it
	versions []version    // the first is the list, then one per event
	lost     []lostWindow // replayed windows
}

// version is the complete content at one RV, and the event that led to it.
type version struct {
	rv                    RV
	objects               map[string]*Object
	before, now, deletion *Object
	audience              audience
}

func newModel(rv RV, objects map[string]*Object) *model {
	return &model{began: rv, rv: rv, versions: []version{{rv: rv, objects: objects}}}
}

func (m *model) newest() version { return m.versions[len(m.versions)-1] }

// change applies one event and reports whether there is one.
func (m *model) change(c Change) bool {
	last := m.newest().objects
	m.rv = c.Object.RV
	before := last[c.Object.Key()]
	if c.Kind == Delete {
		m.deleted = m.rv
	}
	if c.Kind == Delete && before == nil {
		return false
	}
	v := version{rv: m.rv, objects: maps.Clone(last), before: before}
	if c.Kind == Delete {
		v.deletion = c.Object
		delete(v.objects, c.Object.Key())
	} else {
		v.now = c.Object
		v.objects[c.Object.Key()] = c.Object
	}
	m.versions = append(m.versions, v)
	return true
}

// at returns the content at rv.
func (m *model) at(rv RV) map[string]*Object {
	found := m.versions[0]
	for _, v := range m.versions {
		if v.rv <= rv {
			found = v
		}
	}
	return found.objects
}

// list returns the result of a list at rv: the keys and object RVs of p's matches, in order.
func (m *model) list(rv RV, p *selectors.Predicate) []string {
	var received []string
	for _, o := range m.at(rv) {
		if p.Matches(&o.Attributes) {
			received = append(received, fmt.Sprintf("%s@%d", o.Key(), o.RV))
		}
	}
	slices.SortFunc(received, func(a, b string) int {
		return strings.Compare(a[:strings.IndexByte(a, '@')], b[:strings.IndexByte(b, '@')])
	})
	return received
}

// received is an event as a watcher receives it.
type received struct {
	rv   RV
	text string
}

// watch returns the events that a watch of p must receive above rv, by the table of semantics 4.4.
func (m *model) watch(rv RV, p *selectors.Predicate) []received {
	var all []received
	for _, v := range m.versions[1:] {
		if v.rv <= rv {
			continue
		}
		was := v.before != nil && p.Matches(&v.before.Attributes)
		is := v.now != nil && p.Matches(&v.now.Attributes)
		e := Event{RV: v.rv, Object: v.now}
		switch {
		case is && v.audience == toFormerSelectors, !is && v.audience == toOtherSelectors:
			continue
		case is && was:
			e.Type = Modified
		case is:
			e.Type = Added
		case was && v.deletion != nil:
			e.Type, e.Object, e.RV = Deleted, v.deletion, v.deletion.RV
		case was:
			e.Type, e.Object = Deleted, NewObject(v.before.Attributes, v.rv, *v.before.Item())
		default:
			continue
		}
		all = append(all, received{e.RV, describe(e)})
	}
	return all
}

// initial returns the initial events of a watch from the content at rv.
func (m *model) initial(rv RV, p *selectors.Predicate) []received {
	var all []received
	for _, name := range m.list(rv, p) {
		key, _, _ := strings.Cut(name, "@")
		o := m.at(rv)[key]
		all = append(all, received{o.RV, describe(Event{Type: Added, Object: o, RV: o.RV})})
	}
	return append(all, received{rv, fmt.Sprintf("BOOKMARK@%d", rv)})
}

// generator makes random objects, changes and predicates, with so few names and values that selectors overlap.
type generator struct {
	*rand.Rand
	predicates []*selectors.Predicate
}

// labelSelectors have every operator, alone and combined.
var labelSelectors = []string{
	"", "app=x", "app!=x", "app in (x,y)", "app in (x,y,w),tier in (5,b)", "app", "!app", "app notin (x,y)", "tier>4", "tier<7,app",
	"tier=b,app!=x", "tier=5,app=x", "tier=5,tier=b", "app in (x,y),app in (y,z)", "app in (" + manyValues + ",z)", "app,!tier",
}

// manyValues are more values than a feed is filed under.
var manyValues = func() string {
	values := make([]string, mostValues)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	return strings.Join(values, ",")
}()

func newGenerator(t testing.TB) *generator {
	g := &generator{Rand: settings.Random(t)}
	for _, namespace := range []string{"", "", "a", "a-b", "b"} {
		for _, labelSelector := range labelSelectors {
			for _, fieldSelector := range []string{"", "spec.nodeName=n1", "spec.nodeName!=n1", "metadata.name=p3"} {
				g.predicates = append(g.predicates, selecting(t, namespace, labelSelector, fieldSelector))
			}
		}
		for _, labelSelector := range []string{"", "app=x", "app!=x"} {
			for _, shard := range []string{uidShards(0, 1, 4), uidShards(1, 3, 3), uidShards(0, 3, 4), uidShards(0, 1, 1), namespaceHalf} {
				g.predicates = append(g.predicates, selecting(t, namespace, labelSelector, "").Within(parseShards(t, shard)))
			}
		}
	}
	return g
}

// fork returns a random source for another goroutine.
func (g *generator) fork() *rand.Rand { return rand.New(rand.NewPCG(g.Uint64(), 1)) }

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) predicate() *selectors.Predicate { return g.predicates[g.IntN(len(g.predicates))] }

func (g *generator) object(rv RV) *Object {
	key := g.one("a", "a-b", "b", "c") + "/p" + fmt.Sprint(g.IntN(12))
	return labelled(pod(key, rv, g.one("", "n1", "n2", "n3"), g.one("", "x", "y", "z")), selectors.Label{Key: "tier", Value: g.one("", "", "5", "12", "b")})
}

// again returns the object at another RV.
func again(o *Object, rv RV) *Object {
	return NewObject(o.Attributes, rv, itemOf(o.Key(), rv, o.Field(nodeField), o.Labels().Get("app")))
}

// change returns a change at rv: usually an upsert, else a deletion, usually of an existing object.
func (g *generator) change(rv RV, existing map[string]*Object) Change {
	o := g.object(rv)
	if g.IntN(4) > 0 {
		return Change{Upsert, o}
	}
	if last := existing[o.Key()]; last != nil {
		o = again(last, rv)
	}
	return Change{Delete, o}
}

// deletions deletes some objects at one RV, as the end of an etcd lease does.
func (g *generator) deletions(rv RV, existing map[string]*Object) []Change {
	var all []Change
	for _, o := range existing {
		if g.IntN(8) == 0 {
			all = append(all, Change{Delete, again(o, rv)})
		}
	}
	return all
}

func (g *generator) objects(upTo RV) map[string]*Object {
	all := map[string]*Object{}
	for range g.IntN(30) {
		o := g.object(RV(g.Uint64N(uint64(upTo)) + 1))
		all[o.Key()] = o
	}
	return all
}

// modelRun runs a lane and its model with the same steps.
type modelRun struct {
	*testing.T
	*generator
	model    *model
	lane     *Lane
	watchers []*modelWatch
	shared   bool // whether deletions may share an RV
}

// whole returns the RV up to which readers may see everything. More deletions may come at the RV of the last deletion.
func (r *modelRun) whole() RV {
	if r.shared && r.model.deleted == r.model.rv {
		return r.model.rv - 1
	}
	return r.model.rv
}

// modelWatch is a watcher and the start of its watch.
type modelWatch struct {
	*Watcher
	predicate *selectors.Predicate
	from      RV
	initial   []received
	got       int
	caughtUp  bool // Next has returned false
}

// TestLaneAgainstModel compares a lane with the model over random steps, with a history that keeps everything and with
// one that is always too short.
func TestLaneAgainstModel(t *testing.T) {
	for name, budget := range map[string]int64{"long history": 1 << 40, "short history": 200 << 10} {
		for kind, o := range laneKinds() {
			o.HistoryBytes = budget
			t.Run(name+", "+kind, func(t *testing.T) { testLaneAgainstModel(t, o) })
		}
	}
}

// eagerTerms build an index for every property that is listed by, and replace it by one with twice the demand.
var eagerTerms = indexTerms{least: 1, most: 2, budget: 1}

// laneKinds returns the options of lanes for random tests, by the behaviour of their upstream.
func laneKinds() map[string]Options {
	fromEtcd := podOptions
	fromEtcd.ReadFromEtcd = true
	packed := podOptions
	packed.Packing = Packing{From: 1}
	return map[string]Options{
		"watch cache": podOptions, "read from etcd": fromEtcd, "packed": packed, "self-built indexes": {},
	}
}

func testLaneAgainstModel(t *testing.T, o Options) {
	r := &modelRun{T: t, generator: newGenerator(t), lane: NewLane(o), shared: o.ReadFromEtcd}
	r.lane.verifying = true
	r.lane.floor = floor{} // time does not pass in this test
	r.lane.indexer.terms = eagerTerms
	r.relist()
	for i := range settings.Amount(1000, 6000) {
		r.step()
		if i%100 == 0 {
			r.lane.indexer.running.Wait() // indexes must be there for the next steps
		}
	}
	for len(r.watchers) > 0 {
		r.read(0, 1<<30)
		r.close(0)
	}
	if indexed := r.lane.Stats().Indexed; len(o.Indexes) == 0 && indexed < uint64(settings.Amount(2, 10)) {
		t.Errorf("got %d indexes built", indexed)
	}
	equal(t, "feeds left", r.lane.Stats().Feeds, int64(0))
	equal(t, "watchers left", r.lane.Stats().Watchers, int64(0))
}

func (r *modelRun) step() {
	switch n := r.IntN(1000); {
	case n < 500:
		r.apply()
	case n < 550:
		r.model.rv += RV(r.IntN(3))
		r.model.deleted = 0
		r.lane.Progress(r.model.rv)
	case n < 552:
		r.relist()
	case n < 560:
		r.lane.Pack(time.Now())
	case n < 562:
		r.replay()
	case n < 570 && r.shared:
		r.deleteTogether()
	case n < 700:
		r.list()
	case n < 750:
		r.chunks()
	case n < 752:
		r.lane.indexer.running.Wait()
	case n < 800 && len(r.watchers) < 40:
		r.watch()
	case n < 980 && len(r.watchers) > 0:
		r.read(r.IntN(len(r.watchers)), r.IntN(40))
	case len(r.watchers) > 0:
		r.close(r.IntN(len(r.watchers)))
	}
}

func (r *modelRun) apply() {
	c := r.change(r.model.rv+1+RV(r.IntN(3)), r.model.newest().objects)
	r.model.change(c)
	if err := r.lane.Apply(c); err != nil {
		r.Fatalf("apply: %v", err)
	}
	if err := r.lane.Apply(c); !errors.Is(err, ErrOutOfOrder) {
		r.Fatalf("apply again: %v", err)
	}
}

// deleteTogether deletes some objects at one RV, sometimes at the RV of the last deletion.
func (r *modelRun) deleteTogether() {
	rv := r.model.rv + 1
	if r.whole() < r.model.rv && r.IntN(2) == 0 {
		rv = r.model.rv
	}
	for _, c := range r.deletions(rv, r.model.newest().objects) {
		r.model.change(c)
		if err := r.lane.Apply(c); err != nil {
			r.Fatalf("apply: %v", err)
		}
	}
}

// relist begins a new epoch. Everything that watchers received before must be correct, and they must end (I11).
func (r *modelRun) relist() {
	for i := range r.watchers {
		r.read(i, r.IntN(20))
	}
	rv := RV(1)
	if r.model != nil {
		rv = r.model.rv + RV(r.IntN(100))
	}
	objects := r.objects(rv)
	r.model = newModel(rv, objects)
	r.lane.Replace(rv, shape, slices.Collect(maps.Values(objects)))
	for _, w := range r.watchers {
		for _, ok := w.Next(); ok; _, ok = w.Next() {
		}
		var expired *ExpiredError
		if !errors.As(w.Err(), &expired) {
			r.Fatalf("after a relist: got %v, want *ExpiredError", w.Err())
		}
		w.Close()
	}
	r.watchers = nil
}

// replay lets the lane miss some events and copies its result into the model. TestReplay checks that the result is
// correct.
func (r *modelRun) replay() {
	there, before, rv := maps.Clone(r.model.newest().objects), r.whole(), r.model.rv
	for range r.IntN(20) {
		rv++
		if c := r.change(rv, there); c.Kind == Upsert {
			there[c.Object.Key()] = c.Object
		} else {
			delete(there, c.Object.Key())
		}
	}
	from, list := r.model.rv, slices.Collect(maps.Values(there))
	found, err := r.lane.state.Load().compare(from, rv, list)
	if err != nil {
		r.Fatalf("compare: %v", err)
	}
	if err := replay(r.lane, rv, list); err != nil {
		r.Fatalf("replay: %v", err)
	}
	for _, e := range found.events(from, min(from+1, rv), rv) {
		switch {
		case e.audience == toFormerSelectors:
			there := r.model.newest().objects
			r.model.versions = append(r.model.versions, version{e.rv, there, e.before, e.now, again(e.before, from), e.audience})
		case e.now != nil:
			r.model.change(Change{Upsert, e.now})
		case found.exact(from, rv):
			r.model.change(Change{Delete, again(e.before, e.rv)})
		default:
			r.model.change(Change{Delete, again(e.before, from)})
		}
		last := &r.model.versions[len(r.model.versions)-1]
		last.rv, last.audience = e.rv, e.audience
	}
	r.model.rv, r.model.deleted = rv, 0
	r.model.lost = append(r.model.lost, lostWindowsBetween(before, rv)...)
	for i := len(r.watchers) - 1; i >= 0; i-- {
		if w := r.watchers[i]; w.from > before && w.from < rv {
			if _, ok := w.Next(); ok || w.Err() == nil {
				r.Fatalf("watch from %d continues over a lost window from %d to %d", w.from, before, rv)
			}
			r.close(i)
		}
	}
}

// list reads at a random RV of the epoch, with a random predicate, from a random key.
func (r *modelRun) list() {
	rv, p := r.model.began+RV(r.Uint64N(uint64(r.model.rv-r.model.began)+1)), r.predicate()
	if r.IntN(3) == 0 {
		rv = r.model.rv
	}
	s, err := r.lane.At(r.Context(), rv, 0)
	if _, in := lostWindowAt(r.model.lost, rv); in {
		if expired := (*ExpiredError)(nil); !errors.As(err, &expired) {
			r.Fatalf("list at %d, inside a lost window: got %v, want *ExpiredError", rv, err)
		}
		return
	}
	if rv > r.whole() {
		if !notYet(err) {
			r.Fatalf("list at %d, where more deletions may come: got %v, want an error", rv, err)
		}
		return
	}
	var expired *ExpiredError
	if errors.As(err, &expired) && rv < expired.Oldest && expired.Oldest == r.lane.Stats().Oldest {
		return
	}
	if err != nil {
		r.Fatalf("list at %d: %v", rv, err)
	}
	var got []string
	for o := range s.selected(p, "") {
		got = append(got, fmt.Sprintf("%s@%d", o.Key(), o.RV))
	}
	equal(r, fmt.Sprintf("list at %d of %s", rv, p), got, r.model.list(rv, p))
	equal(r, "RV", s.RV(), rv)
	equal(r, "length", s.Len(), len(r.model.at(rv)))
}

// chunks reads the newest State with a limit and compares the joined chunks with the complete list.
func (r *modelRun) chunks() {
	s, p, limit := current(r, r.lane), r.predicate(), 1+r.IntN(9)
	var got []string
	for from, more := "", true; more; {
		c := s.Chunk(p, from, limit)
		for o := range flat(slices.Values(c.Runs)) {
			got = append(got, fmt.Sprintf("%s@%d", o.Key(), o.RV))
			from = o.Key() + "\x00"
		}
		if more = c.More; more && c.Len != limit {
			r.Fatalf("got %d of %d objects and More", c.Len, limit)
		}
	}
	equal(r, fmt.Sprintf("chunks of %d of %s", limit, p), got, r.model.list(r.whole(), p))
}

func (r *modelRun) watch() {
	w := &modelWatch{predicate: r.predicate(), from: r.whole()}
	start := FromNow()
	switch r.IntN(4) {
	case 0:
		w.initial = r.model.initial(w.from, w.predicate)
		start = InitialEvents(current(r, r.lane))
	case 1:
		w.from += RV(r.IntN(5))
		start = AfterRV(w.from)
	case 2:
		w.from = r.model.began + RV(r.Uint64N(uint64(r.model.rv-r.model.began)+1))
		start = AfterRV(w.from)
	}
	var err error
	w.Watcher, err = r.lane.Watch(WatchOptions{Predicate: w.predicate, Start: start})
	var expired *ExpiredError
	if errors.As(err, &expired) && w.from < expired.Oldest {
		return
	}
	if _, in := lostWindowAt(r.model.lost, w.from); in && start.after {
		r.Fatalf("watch from %d, inside a lost window: got %v, want *ExpiredError", w.from, err)
	}
	if err != nil {
		r.Fatalf("watch from %d: %v", w.from, err)
	}
	r.watchers = append(r.watchers, w)
}

// read takes up to limit events from a watcher and compares each with the model.
func (r *modelRun) read(i, limit int) {
	w := r.watchers[i]
	want := append(slices.Clone(w.initial), r.model.watch(w.from, w.predicate)...)
	for range limit {
		e, ok := w.Next()
		if !ok {
			r.drained(w, want)
			return
		}
		if w.got == len(want) || want[w.got].text != describe(e) {
			r.Fatalf("watch of %s from %d: got event %d %s, want %v", w.predicate, w.from, w.got, describe(e), want[w.got:])
		}
		w.got++
	}
}

// drained checks a watcher that has no more events: it returned all of them, or history dropped its position for a
// reason.
func (r *modelRun) drained(w *modelWatch, want []received) {
	err := w.Err()
	var expired *ExpiredError
	if errors.As(err, &expired) {
		if w.caughtUp && (w.got == len(want) || want[w.got].rv > expired.Oldest) {
			r.Fatalf("watch of %s from %d expired although history has its events: %v, next %v", w.predicate, w.from, err, want[w.got:])
		}
		return
	}
	w.caughtUp = true
	if w.got != len(want) || err != nil {
		r.Fatalf("watch of %s from %d ends after %d of %d events: %v", w.predicate, w.from, w.got, len(want), err)
	}
	if w.Progress() != r.whole() {
		r.Fatalf("got progress %d at RV %d", w.Progress(), r.whole())
	}
}

func (r *modelRun) close(i int) {
	r.watchers[i].Close()
	r.watchers = slices.Delete(r.watchers, i, i+1)
}
