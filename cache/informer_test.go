package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/selectors"
)

// follower mirrors what a predicate selects, as a client's informer does: from initial events, then event by event,
// and anew when it is told that it has expired.
type follower struct {
	lane      *Lane
	predicate *selectors.Predicate
	mirror    map[string]RV
	restarts  int
}

// follow runs until the mirror is complete up to last, which is stored once it is known.
func (f *follower) follow(last *atomic.Uint64, pace *pace) error {
	for {
		err := f.watch(last, pace)
		var expired *ExpiredError
		if !errors.As(err, &expired) {
			return err
		}
		f.restarts++
	}
}

func (f *follower) watch(last *atomic.Uint64, pace *pace) error {
	s, err := f.lane.State()
	if err != nil {
		return err
	}
	w, err := f.lane.Watch(WatchOptions{Predicate: f.predicate, Start: InitialEvents(s)})
	if err != nil {
		return err
	}
	defer w.Close()
	f.mirror = map[string]RV{}
	for {
		if e, ok := w.Next(); ok {
			if err := f.take(e); err != nil {
				return err
			}
			continue
		}
		if err := w.Err(); err != nil {
			return err
		}
		if end := last.Load(); end != 0 && w.Progress() == RV(end) {
			return nil
		}
		select {
		case <-w.Wait():
		case <-time.After(time.Duration(pace.below(20)) * 100 * time.Microsecond): // also lags a little
		}
	}
}

// take refuses what a client's store could not make sense of.
func (f *follower) take(e Event) error {
	if e.Type == InitialEventsEnd {
		return nil
	}
	known, present := f.mirror[e.Object.Key]
	if present != (e.Type != Added) || e.Object.RV <= known {
		return fmt.Errorf("%s, but the mirror has it at %d", describe(e), known)
	}
	if e.Type == Deleted {
		delete(f.mirror, e.Object.Key)
	} else {
		f.mirror[e.Object.Key] = e.Object.RV
	}
	return nil
}

// TestFollowersConverge: through relists and with a history too short for those who lag, every follower ends with
// exactly what is there.
func TestFollowersConverge(t *testing.T) {
	u := newUniverse(t)
	l := NewLane(Options{Indexes: podOptions.Indexes, HistoryBytes: 300 << 10})
	existing := u.objects(100)
	l.Replace(100, shape, slices.Collect(maps.Values(existing)))
	var last atomic.Uint64
	followers := make([]*follower, 16)
	failures := make([]error, len(followers))
	var running sync.WaitGroup
	for i := range followers {
		followers[i] = &follower{lane: l, predicate: u.predicate()}
		pace := newPace(u)
		running.Go(func() { failures[i] = followers[i].follow(&last, pace) })
	}
	rv := RV(100)
	for i := range 6000 {
		rv++
		c := u.change(rv, existing)
		if err := l.Apply(c); err != nil {
			t.Fatal(err)
		}
		if delete(existing, c.Object.Key); c.Kind == Upsert {
			existing[c.Object.Key] = c.Object
		}
		if i%1500 == 1499 {
			existing = u.objects(rv)
			l.Replace(rv, shape, slices.Collect(maps.Values(existing)))
		}
	}
	last.Store(uint64(rv))
	running.Wait()
	for i, f := range followers {
		want := map[string]RV{}
		for o := range current(t, l).Select(f.predicate, "") {
			want[o.Key] = o.RV
		}
		equal(t, fmt.Sprintf("mirror of %s after %d restarts", f.predicate, f.restarts), f.mirror, want)
		if failures[i] != nil {
			t.Errorf("follower of %s: %v", f.predicate, failures[i])
		}
	}
	t.Logf("%d watches lost their place", l.Stats().Expired)
	if s := l.Stats(); s.Feeds != 0 || s.Watchers != 0 {
		t.Errorf("left open: %+v", s)
	}
}
