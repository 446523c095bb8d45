package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// recording is all events that one watcher received, with the positions of bookmarks.
type recording struct {
	predicate *selectors.Predicate
	from      RV
	initial   bool
	received  []received
	bookmarks []bookmark
}

// bookmark is a value of Progress, and the number of events before it.
type bookmark struct {
	rv    RV
	after int
}

// check verifies a recording against I3 (order, uniqueness), I4 (bookmarks), I5 (completeness up to the last bookmark)
// and I7 (content).
func (r *recording) check(m *model) error {
	var want []received
	if r.initial {
		want = m.initial(r.from, r.predicate)
	}
	settled := len(want) // initial events are in key order, and all of them precede the first bookmark
	want = append(want, m.watch(r.from, r.predicate)...)
	if len(r.received) > len(want) || !slices.Equal(r.received, want[:len(r.received)]) {
		return fmt.Errorf("got %d events, want %d; first difference at %d", len(r.received), len(want), differ(r.received, want))
	}
	if len(r.bookmarks) == 0 {
		return fmt.Errorf("no bookmark")
	}
	last := RV(0)
	for _, b := range r.bookmarks {
		if b.rv < last {
			return fmt.Errorf("got bookmark %d after bookmark %d", b.rv, last)
		}
		last = b.rv
		if b.after < settled || b.after < len(want) && want[b.after].rv <= b.rv {
			return fmt.Errorf("got bookmark %d before event %d of %d", b.rv, b.after, len(want))
		}
	}
	return nil
}

// script generates changes that the lane and the model accept. With ReadFromEtcd most deletions share an RV. The last
// change is not a deletion, so its RV is complete.
func (g *generator) script(m *model, length int, options Options) []Change {
	var script []Change
	add := func(c Change) {
		m.change(c)
		script = append(script, c)
	}
	for len(script) < length {
		add(g.change(m.rv+1+RV(g.IntN(3)), m.newest().objects))
		if options.ReadFromEtcd && g.IntN(4) == 0 {
			for _, c := range g.deletions(m.rv+1, m.newest().objects) {
				add(c)
			}
		}
	}
	add(Change{Upsert, g.object(m.rv + 1)})
	return script
}

func differ(a, b []received) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestRecordingCheck shows that check detects each kind of error.
func TestRecordingCheck(t *testing.T) {
	m := newModel(10, map[string]*Object{"a/a": pod("a/a", 5, "", "")})
	m.change(Change{Upsert, pod("a/a", 11, "", "")})
	m.change(Change{Upsert, pod("a/a", 12, "", "")})
	p := selecting(t, "", "", "")
	all := m.watch(10, p)
	for name, r := range map[string]recording{
		"missing event":  {received: all[1:], bookmarks: []bookmark{{12, 1}}},
		"end missing":    {received: all[:1], bookmarks: []bookmark{{12, 1}}},
		"repeat":         {received: []received{all[0], all[0], all[1]}, bookmarks: []bookmark{{12, 3}}},
		"order":          {received: []received{all[1], all[0]}, bookmarks: []bookmark{{12, 2}}},
		"no bookmark":    {received: all},
		"early bookmark": {received: all, bookmarks: []bookmark{{11, 0}}},
		"bookmark back":  {received: all, bookmarks: []bookmark{{12, 2}, {11, 2}}},
		"no initial":     {received: all, initial: true, bookmarks: []bookmark{{12, 2}}},
	} {
		r.predicate, r.from = p, 10
		if r.check(m) == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	good := recording{predicate: p, from: 10, received: all, bookmarks: []bookmark{{10, 0}, {11, 1}, {20, 2}}}
	if err := good.check(m); err != nil {
		t.Error(err)
	}
}

// TestConcurrentReaders runs one writer with watchers, lists and waits, each with random pauses. It then compares all
// results with the model: watches for I3, I4, I5 and I7 (recording.check), lists for completeness at their RV (I10).
func TestConcurrentReaders(t *testing.T) {
	for name, options := range laneKinds() {
		t.Run(name, func(t *testing.T) { testConcurrentReaders(t, options) })
	}
}

func testConcurrentReaders(t *testing.T, options Options) {
	const watchers, listers = 16, 4
	changes := settings.Amount(500, 2500)
	g := newGenerator(t)
	l := NewLane(options)
	l.indexer.terms = eagerTerms
	m := newModel(100, g.objects(100))
	var list []*Object
	for _, o := range m.newest().objects {
		list = append(list, o)
	}
	l.Replace(100, shape, list)
	script := g.script(m, changes, options)
	run := &concurrentRun{T: t, lane: l, last: m.rv, generator: g}
	var readers sync.WaitGroup
	recordings := make([][]*recording, watchers)
	for i := range watchers {
		random := g.fork()
		readers.Go(func() { recordings[i] = run.watchRepeatedly(random) })
	}
	lists := make([]map[RV]string, listers)
	for i := range listers {
		random := g.fork()
		readers.Go(func() { lists[i] = run.listRepeatedly(random) })
	}
	for i, c := range script {
		if err := l.Apply(c); err != nil {
			t.Fatal(err)
		}
		switch {
		case options.ReadFromEtcd:
			runtime.Gosched() // lets readers run between two deletions
		case i%100 == 0:
			l.Progress(c.Object.RV) // a bookmark that is not above the RV
		}
	}
	readers.Wait()
	for _, r := range slices.Concat(recordings...) {
		if err := r.check(m); err != nil {
			t.Errorf("watch of %s from %d: %v", r.predicate, r.from, err)
		}
	}
	for rv, got := range lists[0] {
		equal(t, fmt.Sprint("list at ", rv), got, strings.Join(m.list(rv, selecting(t, "", "", "")), " "))
	}
	for _, other := range lists[1:] {
		for rv, got := range other {
			equal(t, fmt.Sprint("list at ", rv), got, strings.Join(m.list(rv, selecting(t, "", "", "")), " "))
		}
	}
	if s := l.Stats(); s.Feeds != 0 || s.Watchers != 0 || s.Expired != 0 {
		t.Errorf("got %+v, want no open feeds and watchers", s)
	}
}

// TestProgressNeverOvertakesEvents races Next against the writer. An event at or below a Progress that was already
// reported violates I4.
func TestProgressNeverOvertakesEvents(t *testing.T) {
	last := RV(settings.Amount(10_000, 100_000))
	l := newRacedLane()
	w := watch(t, l, selecting(t, "", "", ""), FromNow())
	go overwrite(t, l, last)
	for w.Progress() < last {
		promised := w.Progress()
		if e, ok := w.Next(); ok && e.RV <= promised {
			t.Fatalf("got event at %d after progress %d", e.RV, promised)
		}
	}
}

// TestStateIsCompleteAtItsRV races State against the writer. Every event writes the same object, so the State of an RV
// must have the object of that RV (I10).
func TestStateIsCompleteAtItsRV(t *testing.T) {
	last := RV(settings.Amount(10_000, 100_000))
	l := newRacedLane()
	go overwrite(t, l, last)
	for rv := RV(0); rv < last; {
		s := current(t, l)
		rv = s.RV()
		if o, _ := s.Get("a/a"); o.RV != rv {
			t.Fatalf("got object at %d in the State at %d, want the same RV", o.RV, rv)
		}
	}
}

// newRacedLane returns a lane with one object at RV 1. It never verifies, because its tests depend on speed.
func newRacedLane() *Lane {
	l := NewLane(Options{HistoryBytes: 1 << 40})
	l.verifying = false
	l.Replace(1, shape, []*Object{pod("a/a", 1, "", "")})
	return l
}

// overwrite writes the object at every RV up to last.
func overwrite(t *testing.T, l *Lane, last RV) {
	o := pod("a/a", 1, "", "")
	for rv := o.RV + 1; rv <= last; rv++ {
		next := NewObject(o.Attributes, rv, *o.Item())
		if err := l.Apply(Change{Upsert, next}); err != nil {
			t.Error(err)
		}
	}
}

type concurrentRun struct {
	*testing.T
	*generator // not safe for concurrent use; only for the writer
	lane       *Lane
	last       RV
}

// watchRepeatedly opens one watch after another with random start and predicate, until the lane is at its last RV.
func (r *concurrentRun) watchRepeatedly(random *rand.Rand) []*recording {
	var all []*recording
	for {
		s, err := r.lane.State()
		if err != nil {
			r.Error(err)
			return all
		}
		rec := &recording{predicate: r.predicates[random.IntN(len(r.predicates))], from: s.RV()}
		start := AfterRV(rec.from)
		switch random.IntN(3) {
		case 0:
			rec.initial, start = true, InitialEvents(s)
		case 1:
			rec.from = 100 + RV(random.IntN(int(s.RV()-100)+1))
			start = AfterRV(rec.from)
		}
		w, err := r.lane.Watch(WatchOptions{Predicate: rec.predicate, Start: start})
		if err != nil {
			r.Error(err)
			return all
		}
		rec.read(w, min(r.last, s.RV()+RV(random.IntN(2000))), random)
		w.Close()
		all = append(all, rec)
		if s.RV() == r.last {
			return all
		}
	}
}

// read records a watcher until it is complete up to enough.
func (r *recording) read(w *Watcher, enough RV, random *rand.Rand) {
	for {
		for range 1 + random.IntN(50) {
			if random.IntN(2) == 0 {
				run, _ := w.NextInitial()
				for at := run.From; at < run.To; at++ {
					o := run.Objects()[at-run.From]
					r.received = append(r.received, received{o.RV, describe(Event{Type: Added, Object: o, RV: o.RV})})
				}
			}
			e, ok := w.Next()
			if ok {
				r.received = append(r.received, received{e.RV, describe(e)})
				continue
			}
			r.bookmarks = append(r.bookmarks, bookmark{w.Progress(), len(r.received)})
			if w.Progress() >= enough || w.Err() != nil {
				return
			}
			select {
			case <-w.Wait():
			case <-time.After(time.Millisecond): //pace: progress alone fires no signal
			}
		}
	}
}

// listRepeatedly reads complete States, newest, past and awaited ones, and returns their content by RV.
func (r *concurrentRun) listRepeatedly(random *rand.Rand) map[RV]string {
	found := map[RV]string{}
	for {
		s, err := r.lane.State()
		if err == nil && s.RV() < r.last && random.IntN(2) == 0 {
			s, err = r.lane.WaitFor(context.Background(), s.RV()+1+RV(random.IntN(20)), time.Millisecond)
		}
		if notYet(err) {
			continue
		}
		if err == nil && random.IntN(2) == 0 {
			s, err = r.lane.At(context.Background(), 100+RV(random.IntN(int(s.RV()-100)+1)), 0)
		}
		if err != nil {
			r.Error(err)
			return found
		}
		var received []string
		for o := range s.Objects(Span{}) {
			received = append(received, fmt.Sprintf("%s@%d", o.Key(), o.RV))
		}
		found[s.RV()] = strings.Join(received, " ")
		if s.RV() == r.last || len(found) == 1000 {
			return found
		}
	}
}

// A reader that sees a State of an epoch also counts that epoch. So a watch that was opened before the number of epochs
// was read is not of a later epoch.
func TestEpochsAreCountedBeforeTheyAreVisible(t *testing.T) {
	l := NewLane(Options{})
	defer l.Close()
	var ended atomic.Bool
	reader := make(chan error, 1)
	go func() {
		for !ended.Load() {
			s, err := l.State()
			if n := l.Epochs(); err == nil && uint64(s.RV()) > n {
				reader <- fmt.Errorf("read the State of epoch %d of %d", s.RV(), n)
				return
			}
		}
		reader <- nil
	}()
	for epoch := range settings.Amount(10_000, 1_000_000) {
		l.Replace(RV(epoch+1), shape, nil) // the RV is the number of the epoch
	}
	ended.Store(true)
	if err := <-reader; err != nil {
		t.Error(err)
	}
}
