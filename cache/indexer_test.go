package cache

import (
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// manyPods returns a lane of pods. Every hundredth has the same label, and a tenth has none.
func manyPods(t testing.TB, pods int) *Lane {
	var objects []*Object
	for i := range pods {
		app := ""
		if i%10 > 0 {
			app = fmt.Sprint("app-", i%100)
		}
		objects = append(objects, pod(fmt.Sprintf("ns-%d/p%05d", i%5, i), RV(i+1), fmt.Sprint("node-", i%250), app))
	}
	l := NewLane(Options{})
	t.Cleanup(l.Close)
	l.Replace(RV(pods), shape, objects)
	return l
}

// listed returns the counts of a list, after waiting for an index that it made the lane build.
func listed(t testing.TB, l *Lane, p *selectors.Predicate) (looked, selected int) {
	s := current(t, l).Selection(p, "")
	for range s.Runs() {
		continue
	}
	l.indexer.running.Wait()
	return s.Looked, s.Selected
}

// TestLaneIndexesFrequentSelectors: after some lists by a label or field that compared every object, lists compare only
// matching objects. This also applies to other values, to limits and to namespaces.
func TestLaneIndexesFrequentSelectors(t *testing.T) {
	const pods = 5000
	l := manyPods(t, pods)
	l.indexer.terms.rest, l.indexer.terms.pause = 0, 0
	for _, c := range []struct{ labels, fields string }{{"app=app-7", ""}, {"app!=x", "spec.nodeName=node-3"}} {
		p, lists := selecting(t, "", c.labels, c.fields), 0
		_, want := listed(t, l, p)
		for looked := pods; looked == pods; lists++ {
			var selected int
			if looked, selected = listed(t, l, p); selected != want {
				t.Fatalf("list %d: got %d objects, want %d", lists, selected, want)
			}
			if looked != pods && looked != want {
				t.Errorf("got %d comparisons, want %d", looked, want)
			}
		}
		if lists < 12 || lists > 20 {
			t.Errorf("%q %q: got an index after %d lists, want 12 to 20", c.labels, c.fields, lists)
		}
	}
	other := selecting(t, "ns-1", "app=app-11", "")
	if looked, selected := listed(t, l, other); looked != pods/100 || selected != looked {
		t.Errorf("another value: got %d comparisons for %d objects", looked, selected)
	}
	c := current(t, l).Chunk(selecting(t, "", "app=app-7,app!=y", ""), "", 10)
	if c.Looked != 10 || c.Len != 10 || !c.More || !c.Indexed {
		t.Errorf("got chunk %+v", c)
	}
	if looked, _ := listed(t, l, selecting(t, "", "app=none", "")); looked != 0 {
		t.Errorf("got %d comparisons for a value of no object", looked)
	}
	s := l.Stats()
	if s.Indexes != 2 || s.OwnIndexes != 2 || s.Indexed != 2 || s.IndexBytes < 2*4500*8 || s.IndexBytes > 2*pods*12 {
		t.Errorf("got %+v", s)
	}
}

// TestInitialEventsCountAsLists: watches with initial events count like lists.
func TestInitialEventsCountAsLists(t *testing.T) {
	l := manyPods(t, 5000)
	p := selecting(t, "", "app=app-7", "")
	for range 20 {
		w := watch(t, l, p, InitialEvents(current(t, l)))
		equal(t, "initial events", len(drained(w)), 51)
		w.Close()
		l.indexer.running.Wait()
	}
	equal(t, "indexes", l.Stats().OwnIndexes, 1)
}

// TestRareSelectorsAreNotIndexed: a lane builds nothing if it is small, if it is rarely read by any one property, or if
// most objects have the property.
func TestRareSelectorsAreNotIndexed(t *testing.T) {
	small, l := manyPods(t, 200), manyPods(t, 5000)
	for i := range settings.Amount(100, 1000) {
		listed(t, small, selecting(t, "", "app=app-7", ""))
		listed(t, l, selecting(t, "", fmt.Sprintf("key-%d=x", i), ""))
	}
	for range 50 {
		listed(t, l, selecting(t, "", "app!=app-7", ""))
		listed(t, l, selecting(t, "", "!app", ""))
		listed(t, l, selecting(t, "ns-1", "", ""))
		listed(t, l, selecting(t, "ns-1", "", "metadata.name=p00001"))
	}
	same := NewLane(Options{})
	t.Cleanup(same.Close)
	var objects []*Object
	for i := range 5000 {
		objects = append(objects, pod(fmt.Sprint("ns/p", i), 1, "", "same"))
	}
	same.Replace(1, shape, objects)
	for range 50 { // as for compressed lists with precompressed pages
		s := current(t, same).Selection(selecting(t, "", "app=same", ""), "")
		for run := range s.Candidates() {
			for at := run.From; at < run.To; at++ {
				s.Selects(run.Page, at)
			}
		}
		same.indexer.running.Wait()
	}
	equal(t, "built", small.Stats().Indexed+l.Stats().Indexed+same.Stats().Indexed, uint64(0))
	if n := len(l.indexer.demands); n > mostDemands {
		t.Errorf("got %d remembered properties", n)
	}
}

// TestManyPropertiesDoNotThrash: a client that lists by many properties in turn gets the maximum number of indexes.
// They are replaced rarely, and only for properties with more demand.
func TestManyPropertiesDoNotThrash(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := manyPods(t, 2000)
		for range settings.Amount(40, 100) {
			for key := range 40 {
				listed(t, l, selecting(t, "", fmt.Sprintf("key-%d=x", key), ""))
			}
			pass(time.Second)
		}
		s := l.Stats()
		if s.OwnIndexes > defaultIndexTerms.most || s.OwnIndexes < 2 || s.Indexed > 2*uint64(defaultIndexTerms.most) {
			t.Errorf("got %d indexes, %d built", s.OwnIndexes, s.Indexed)
		}
		for range 200 {
			for range 10 {
				listed(t, l, selecting(t, "", "app=app-7", ""))
			}
			pass(time.Second)
		}
		if looked, selected := listed(t, l, selecting(t, "", "app=app-7", "")); looked != selected {
			t.Errorf("most frequent selector: got %d comparisons for %d objects", looked, selected)
		}
	})
}

// TestUnusedIndexesAreDropped: indexes are dropped after a while, but not while they are used.
func TestUnusedIndexesAreDropped(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := manyPods(t, 5000)
		app, node := selecting(t, "", "app=app-7", ""), selecting(t, "", "", "spec.nodeName=node-3")
		for range 20 {
			listed(t, l, app)
			pass(time.Second)
			listed(t, l, node)
		}
		l.Trim()
		equal(t, "indexes", l.Stats().OwnIndexes, 2)
		for range 60 {
			pass(time.Minute)
			listed(t, l, app)
			l.Trim()
		}
		equal(t, "indexes after an hour", l.Stats().OwnIndexes, 1)
		if looked, selected := listed(t, l, app); looked != selected {
			t.Errorf("other index: got %d comparisons for %d objects", looked, selected)
		}
		pass(3 * time.Hour)
		l.Trim()
		equal(t, "indexes after three unused hours", l.Stats().OwnIndexes, 0)
	})
}

// TestWritesArePartOfThePrice: where objects change more often than they are listed, an index is not worth its updates.
func TestWritesArePartOfThePrice(t *testing.T) {
	l := manyPods(t, 2000)
	l.verifying = false
	for rv := RV(2001); rv < 12_001; rv++ {
		apply(t, l, Upsert, pod("ns-1/p00001", rv, "", ""))
	}
	for range 100 {
		listed(t, l, selecting(t, "", "app=app-7", ""))
	}
	equal(t, "built", l.Stats().Indexed, uint64(0))
}

// TestIndexCatchesUp: an index that is built while objects change has all changes, from before and after the lane
// adopts it.
func TestIndexCatchesUp(t *testing.T) {
	l := manyPods(t, 2000)
	l.verifying = false
	g := newGenerator(t)
	e := current(t, l).epoch
	d := &draft{index: newIndex(LabelIndex("app"), nil), epoch: e}
	d.index = newIndex(LabelIndex("app"), objectsOf(current(t, l)))
	d.demand = &demand{property: d.property}
	write := func(from RV) {
		for rv := from; rv < from+500; rv++ {
			c := g.change(rv, nil)
			apply(t, l, c.Kind, c.Object)
		}
	}
	write(2001)
	if !d.catchUp() {
		t.Fatal("catchUp failed")
	}
	write(2501)
	l.adopt(d, nil)
	write(3001)
	equal(t, "indexes", l.Stats().OwnIndexes, 1)
	l.running.Wait()
	if err := l.verify(); err != nil {
		t.Error(err)
	}
	late := &draft{index: newIndex(LabelIndex("tier"), nil), epoch: e}
	l.Replace(4000, shape, nil)
	if late.catchUp() {
		t.Error("catchUp succeeded in an ended epoch")
	}
	l.adopt(late, nil)
	equal(t, "indexes of the next epoch", l.Stats().OwnIndexes, 0)
}

func objectsOf(s *State) []*Object {
	var all []*Object
	for o := range s.Objects(Span{}) {
		all = append(all, o)
	}
	return all
}

// TestVouchedStatesHaveTheIndexes: a State that was read before the lane had an index has that index once it is vouched
// for.
func TestVouchedStatesHaveTheIndexes(t *testing.T) {
	l := manyPods(t, 2000)
	before := current(t, l)
	d := &draft{index: newIndex(LabelIndex("app"), objectsOf(before)), epoch: before.epoch}
	d.demand = &demand{property: d.property}
	l.adopt(d, nil)
	l.Vouch(before, 5000)
	if s := current(t, l); s.RV() != 5000 || !s.has(d.property) {
		t.Errorf("got RV %d with %d indexes", s.RV(), len(s.indexes))
	}
}

// TestCloseEndsBuilding: no goroutine of a closed lane runs.
func TestCloseEndsBuilding(t *testing.T) {
	l := manyPods(t, 5000)
	s, p := current(t, l), selecting(t, "", "app=app-7", "")
	l.indexer.terms = eagerTerms
	go func() {
		for range s.Selection(p, "").Runs() {
			continue
		}
	}()
	l.Close()
	for range s.Selection(p, "").Runs() { // a State that a reader still uses
		continue
	}
	l.indexer.running.Wait()
	equal(t, "built", l.Stats().OwnIndexes, 0)
}
