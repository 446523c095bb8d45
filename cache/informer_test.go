package cache

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/selectors"
)

// informer keeps the objects that a predicate selects, as a client's informer does: initial events, then events, then
// initial events again after an expiry.
type informer struct {
	lane      *Lane
	predicate *selectors.Predicate
	store     map[string]RV
	restarts  int
}

// run returns when the store is complete up to last, which is set once it is known.
func (n *informer) run(last *atomic.Uint64, random *rand.Rand) error {
	for {
		err := n.watch(last, random)
		var expired *ExpiredError
		if !errors.As(err, &expired) {
			return err
		}
		n.restarts++
	}
}

func (n *informer) watch(last *atomic.Uint64, random *rand.Rand) error {
	s, err := n.lane.State()
	if err != nil {
		return err
	}
	w, err := n.lane.Watch(WatchOptions{Predicate: n.predicate, Start: InitialEvents(s)})
	if err != nil {
		return err
	}
	defer w.Close()
	n.store = map[string]RV{}
	for {
		end := last.Load() // loaded before checking whether the epoch ended: the last epoch begins before the end is known
		if e, ok := w.Next(); ok {
			if err := n.take(e); err != nil {
				return err
			}
			continue
		}
		if err := w.Err(); err != nil {
			return err
		}
		if end != 0 && w.Progress() == RV(end) {
			return nil
		}
		select {
		case <-w.Wait():
		case <-time.After(time.Duration(random.IntN(20)) * 100 * time.Microsecond): // sometimes slow
		}
	}
}

// take rejects events that contradict the store.
func (n *informer) take(e Event) error {
	if e.Type == InitialEventsEnd {
		return nil
	}
	known, present := n.store[e.Object.Key()]
	if present != (e.Type != Added) || e.Object.RV <= known {
		return fmt.Errorf("got %s while the store has RV %d", describe(e), known)
	}
	if e.Type == Deleted {
		delete(n.store, e.Object.Key())
	} else {
		n.store[e.Object.Key()] = e.Object.RV
	}
	return nil
}

// TestInformersConverge: every informer ends with the correct content, through relists and with a history too short for
// slow ones.
func TestInformersConverge(t *testing.T) {
	g := newGenerator(t)
	l := NewLane(Options{Indexes: podOptions.Indexes, HistoryBytes: 300 << 10})
	l.floor = floor{} // the test is so short that the floor would keep every event
	existing := g.objects(100)
	l.Replace(100, shape, slices.Collect(maps.Values(existing)))
	var last atomic.Uint64
	informers := make([]*informer, 16)
	failures := make([]error, len(informers))
	var running sync.WaitGroup
	for i := range informers {
		informers[i] = &informer{lane: l, predicate: g.predicate()}
		random := g.fork()
		running.Go(func() { failures[i] = informers[i].run(&last, random) })
	}
	rv := RV(100)
	for i := range settings.Amount(1500, 6000) {
		rv++
		c := g.change(rv, existing)
		if err := l.Apply(c); err != nil {
			t.Fatal(err)
		}
		if delete(existing, c.Object.Key()); c.Kind == Upsert {
			existing[c.Object.Key()] = c.Object
		}
		if i%1500 == 700 { // some events are lost
			for range 40 {
				rv++
				if c := g.change(rv, existing); c.Kind == Upsert {
					existing[c.Object.Key()] = c.Object
				} else {
					delete(existing, c.Object.Key())
				}
			}
			if err := replay(l, rv, slices.Collect(maps.Values(existing))); err != nil {
				t.Fatal(err)
			}
		}
		if i%1500 == 1499 {
			existing = g.objects(rv)
			l.Replace(rv, shape, slices.Collect(maps.Values(existing)))
		}
	}
	last.Store(uint64(rv))
	running.Wait()
	for i, n := range informers {
		want := map[string]RV{}
		for o := range current(t, l).selected(n.predicate, "") {
			want[o.Key()] = o.RV
		}
		equal(t, fmt.Sprintf("store of %s after %d restarts", n.predicate, n.restarts), n.store, want)
		if failures[i] != nil {
			t.Errorf("informer of %s: %v", n.predicate, failures[i])
		}
	}
	t.Logf("%d watches expired", l.Stats().Expired)
	if s := l.Stats(); s.Feeds != 0 || s.Watchers != 0 {
		t.Errorf("got %+v, want no open feeds and watchers", s)
	}
}
