package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/wire"
)

// tailed is a lane with a tail, and what a journal would contain of it.
type tailed struct {
	*Tail
	t      *testing.T
	lane   *Lane
	base   *State
	events []Happened
}

func tailOf(t *testing.T, l *Lane) *tailed {
	t.Helper()
	tail, base, err := l.Tail()
	if err != nil {
		t.Fatal(err)
	}
	return &tailed{Tail: tail, t: t, lane: l, base: base}
}

// reads reads what is ready, and fails unless this is the given number of events.
func (l *tailed) reads(want int) {
	l.t.Helper()
	before := len(l.events)
	var err error
	if n := l.Ready(); n < want {
		l.t.Errorf("got %d ready events, want at least %d", n, want)
	}
	if l.events, err = l.Next(l.events, 1000); err != nil || len(l.events)-before != want {
		l.t.Fatalf("got %d events, error %v, want %d events", len(l.events)-before, err, want)
	}
	l.fits()
}

// fits fails unless State is the content after the events that were read.
func (l *tailed) fits() {
	l.t.Helper()
	s, err := l.State()
	if err != nil {
		l.t.Fatal(err)
	}
	equal(l.t, "RV of the State", s.RV(), l.RV())
	equal(l.t, "content", content(s), content(current(l.t, l.rebuilt())))
}

// rebuilt returns a lane that was restored from what the tail has read.
func (l *tailed) rebuilt() *Lane {
	l.t.Helper()
	other := NewLane(l.lane.options)
	other.verifying = true
	r := other.Fill().Restore(l.base.RV(), shape, slices.Collect(l.base.Objects(Span{})))
	for _, e := range l.events {
		if err := r.Apply(e.Change, e.At); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := r.Show(l.RV()); err != nil {
		l.t.Fatal(err)
	}
	return other
}

// loses fails unless events are missing. It then begins again, as a journal does.
func (l *tailed) loses() {
	l.t.Helper()
	if events, err := l.Next(nil, 1000); !errors.Is(err, ErrLost) || len(events) > 0 {
		l.t.Fatalf("got %d events and error %v, want ErrLost", len(events), err)
	}
	if events, err := l.Rest(nil, 1000); !errors.Is(err, ErrLost) || len(events) > 0 {
		l.t.Fatalf("got %d events and error %v from Rest, want ErrLost", len(events), err)
	}
	*l = *tailOf(l.t, l.lane)
}

// TestTailRebuildsTheLane: a lane restored from a State and the events after it has the same content at each RV.
func TestTailRebuildsTheLane(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""), pod("a/b", 6, "", ""))
	tail := tailOf(t, l)
	tail.reads(0)
	apply(t, l, Upsert, pod("a/a", 11, "", ""))
	apply(t, l, Upsert, pod("a/c", 12, "", ""))
	tail.reads(2)
	apply(t, l, Delete, pod("a/b", 14, "", ""))
	apply(t, l, Delete, pod("a/none", 15, "", ""))
	l.Progress(17)
	tail.reads(1)
	equal(t, "RV", tail.RV(), RV(17))
	other := tail.rebuilt()
	for _, rv := range []RV{10, 11, 12, 13, 14, 17} {
		var held [2]string
		for i, lane := range []*Lane{l, other} {
			s, err := lane.At(t.Context(), rv, 0)
			if err != nil {
				t.Fatal(err)
			}
			held[i] = content(s)
		}
		equal(t, fmt.Sprint("content at ", rv), held[1], held[0])
	}
	if _, _, err := NewLane(podOptions).Tail(); !errors.Is(err, ErrNotReady) {
		t.Errorf("got error %v, want ErrNotReady", err)
	}
	apply(t, l, Upsert, pod("a/last", 20, "", ""))
	l.Close()
	if _, err := tail.Next(nil, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v after Close, want ErrClosed", err)
	}
	if events, err := tail.Rest(nil, 10); err != nil || len(events) != 1 || events[0].Object.RV != 20 || tail.RV() != 20 {
		t.Errorf("got %v up to %d after Close, error %v, want the last event", events, tail.RV(), err)
	}
}

// TestTailReadsAtMost: a tail that reads a part of the events is complete up to the last of them.
func TestTailReadsAtMost(t *testing.T) {
	l := newTestLane(t, podOptions, 100)
	tail := tailOf(t, l)
	for rv := RV(101); rv <= 100+3*segmentSize; rv++ {
		apply(t, l, Upsert, pod("a/a", rv, "", ""))
	}
	for tail.RV() < 100+3*segmentSize {
		before := tail.RV()
		events, err := tail.Next(tail.events, 50)
		if err != nil || len(events) == len(tail.events) || tail.RV() > before+50 {
			t.Fatalf("got %d events up to %d, error %v", len(events)-len(tail.events), tail.RV(), err)
		}
		tail.events = events
		tail.fits()
	}
}

// TestTailLosesEvents: a tail notices each way in which events are lost.
func TestTailLosesEvents(t *testing.T) {
	for name, list := range map[string][]*Object{
		"nothing":            at100(),
		"a deletion":         at100()[1:],
		"a change":           append(at100()[1:], born(pod("a/same", 105, "n2", "x"), "1")),
		"an addition":        append(at100(), pod("a/new", 110, "n1", "x")),
		"a change of labels": append(at100()[1:], born(pod("a/same", 110, "n1", "y"), "1")),
	} {
		for _, unread := range []bool{false, true} {
			l := newTestLane(t, podOptions, 100, at100()...)
			tail := tailOf(t, l)
			apply(t, l, Upsert, pod("a/before", 101, "n1", "x"))
			l.Progress(102)
			if !unread {
				tail.reads(1)
			}
			if err := replay(l, 110, append(slices.Clone(list), pod("a/before", 101, "n1", "x"))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if unread {
				tail.reads(1) // the event before the lost window can still be read
			}
			tail.loses()
			apply(t, l, Upsert, pod("a/behind", 112, "n1", "x"))
			tail.reads(1)
			equal(t, name+": content", content(current(t, tail.rebuilt())), content(current(t, l)))
		}
	}
	l := newTestLane(t, podOptions, 100, at100()...)
	tail := tailOf(t, l)
	l.Replace(120, shape, at100())
	tail.loses()
}

// TestTailLosesDroppedEvents: history drops events that a tail has not read, and never waits for it.
func TestTailLosesDroppedEvents(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newTestLane(t, Options{HistoryWindow: time.Minute}, 100)
		tail := tailOf(t, l)
		for rv := RV(101); rv <= 100+6*segmentSize; rv++ {
			apply(t, l, Upsert, pod("a/a", rv, "", ""))
			pass(time.Second)
		}
		if _, err := tail.State(); !errors.Is(err, ErrLost) {
			t.Errorf("got error %v from State, want ErrLost", err)
		}
		tail.loses()
		tail.reads(0)
		apply(t, l, Upsert, pod("a/b", 1000, "", ""))
		tail.reads(1)
		pass(time.Hour)
		l.Trim()
		tail.reads(0) // nothing was lost, although history has dropped what was read
	})
}

// TestTailOmitsVouchedRVs: events below a vouched RV may be missing, so a tail is not complete there.
func TestTailOmitsVouchedRVs(t *testing.T) {
	l := newTestLane(t, podOptions, 10, pod("a/a", 5, "", ""))
	l.Vouch(current(t, l), 20)
	tail := tailOf(t, l)
	tail.reads(0)
	equal(t, "RV", tail.RV(), RV(10))
	apply(t, l, Upsert, pod("a/x", 12, "", ""))
	tail.reads(1)
	equal(t, "RV", tail.RV(), RV(12))
}

// TestTailWaitsForPacking: an event is ready when its object was packed, and each object that is read is packed. Rest
// does not wait. The times are those of the events.
func TestTailWaitsForPacking(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLane(packingOptions)
		defer l.Close()
		l.Replace(10, shape, fillOf(l, 1, 400))
		tail := tailOf(t, l)
		applied := time.Now()
		for i := range 10 {
			apply(t, l, Upsert, podNumber(i, RV(11+i)))
		}
		tail.reads(0)
		equal(t, "RV before the events were packed", tail.RV(), RV(10))
		pass(2 * packingOptions.Packing.After)
		l.Pack(time.Now())
		tail.reads(10)
		for _, e := range tail.events {
			if !e.Object.Item().Packed() || !e.At.Equal(applied) {
				t.Fatalf("got packed=%t at %v, want packed at %v", e.Object.Item().Packed(), e.At, applied)
			}
		}
		apply(t, l, Upsert, podNumber(1, 30))
		tail.reads(0)
		if events, err := tail.Rest(nil, 10); err != nil || len(events) != 1 || tail.RV() != 30 {
			t.Errorf("got %d events up to %d, error %v, want 1 up to 30", len(events), tail.RV(), err)
		}
	})
}

// TestSteadyEventsBecomeReady: an event is ready after Packing.After, although others follow it.
func TestSteadyEventsBecomeReady(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLane(Options{Packing: Packing{From: 1, After: DefaultPacking.After}})
		defer l.Close()
		l.Replace(10, shape, fillOf(l, 1, 400))
		tail := tailOf(t, l)
		if at := tail.Waiting(); !at.IsZero() {
			t.Errorf("got an event of %v that waits, want none", at)
		}
		for i := range 3 * segmentSize {
			apply(t, l, Upsert, podNumber(i, RV(11+i)))
			pass(4 * time.Second)
			l.Pack(time.Now())
			if i == 0 {
				continue
			}
			tail.reads(1)
			if waits := time.Since(tail.Waiting()); waits != 4*time.Second {
				t.Fatalf("got an event that waits for %v, want 4s", waits)
			}
		}
	})
}

// TestRestoredObjectsKeepTheirDictionary: objects that are packed when they are restored stay so, in the memory of the
// lane, and the lane packs with their dictionary.
func TestRestoredObjectsKeepTheirDictionary(t *testing.T) {
	l := NewLane(packingOptions)
	defer l.Close()
	l.Replace(10, shape, fillOf(l, 1, 400))
	tail := tailOf(t, l)

	other := NewLane(packingOptions)
	defer other.Close()
	other.verifying = true
	f := other.Fill()
	var by *wire.Dictionary
	var again []*Object
	for o := range tail.base.Objects(Span{}) {
		if of := wire.DictionaryOf(o.Item()); of != nil && of != by {
			by = of
			f.Adopt(by)
		}
		item := o.Item().Alone()
		again = append(again, NewObject(o.Attributes, o.RV, item))
		f.Add(again[len(again)-1])
	}
	if err := f.Restore(10, shape, again).Show(10); err != nil {
		t.Fatal(err)
	}
	equal(t, "memory", memoryOf(other), memoryOf(l))
	equal(t, "content", content(current(t, other)), content(current(t, l)))
	learned := other.dictionary.Load()
	if learned == nil || learned.Dictionary != by || learned.ratio <= 0 || learned.ratio >= 1 {
		t.Fatalf("got dictionary %+v, want that of the objects with its ratio", learned)
	}
}

// TestTailAtRandom: whatever is written to a lane, the State and the events that a tail has read make the lane's
// content, or the tail says that events were lost.
func TestTailAtRandom(t *testing.T) {
	random := settings.Random(t)
	bubble.Test(t, func(t *testing.T) {
		l := newTestLane(t, Options{HistoryWindow: time.Minute, HistoryBytes: 64 << 10}, 100)
		tail, rv, lost, read := tailOf(t, l), RV(100), 0, 0
		for range settings.Amount(300, 3000) {
			rv += RV(1 + random.IntN(3))
			key := fmt.Sprintf("a/%d", random.IntN(20))
			switch random.IntN(20) {
			case 0, 1:
				l.Progress(rv)
			case 2:
				l.Vouch(current(t, l), current(t, l).RV()+RV(random.IntN(5)))
				rv = max(rv, current(t, l).RV())
			case 3:
				rv = max(rv, current(t, l).RV())
				_ = replay(l, rv, slices.Collect(current(t, l).Objects(Span{})))
			case 4:
				apply(t, l, Delete, pod(key, rv, "", ""))
			default:
				apply(t, l, Upsert, pod(key, rv, "", "x"))
			}
			pass(time.Duration(random.IntN(3000)) * time.Millisecond)
			if random.IntN(8) > 0 {
				continue
			}
			events, err := tail.Next(tail.events, 1+random.IntN(50))
			if errors.Is(err, ErrLost) {
				tail.loses()
				lost++
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			read += len(events) - len(tail.events)
			tail.events = events
			if s, err := tail.State(); err == nil { // history may have dropped it in the meantime
				equal(t, "content", content(current(t, tail.rebuilt())), content(s))
			}
		}
		t.Logf("read %d events, lost events %d times", read, lost)
		if read == 0 || lost == 0 {
			t.Errorf("read %d events, lost events %d times: want both above 0", read, lost)
		}
	})
}
