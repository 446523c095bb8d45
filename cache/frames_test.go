package cache

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

var (
	wholeObject   = wire.Representation{Kind: wire.Whole}
	partialObject = wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
)

// frameOf returns the next event of a watcher and its frame.
func frameOf(t *testing.T, w *Watcher, representation wire.Representation) (Event, *Frame) {
	t.Helper()
	w.epoch.running.Wait()
	e, ok := w.Next()
	if !ok {
		t.Fatal("no event")
	}
	return e, w.Frame(e, representation, shape.Framer(representation))
}

// wants fails the test unless a frame equals what the watcher's framer writes.
func wants(t *testing.T, e Event, f *Frame, representation wire.Representation) {
	t.Helper()
	if f == nil {
		t.Fatalf("%s: got no shared frame", describe(e))
	}
	equal(t, describe(e), string(f.Bytes), string(shape.Framer(representation).AppendEvent(nil, e.Type.String(), e.Object.Item())))
}

// TestFramesAreShared: watchers of a feed share a frame for each representation, and each frame is of the right event.
func TestFramesAreShared(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all, labelled := selecting(t, "", "", ""), selecting(t, "", "app=a", "")
	one, two, partial := watch(t, l, all, FromNow()), watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	left, also := watch(t, l, labelled, FromNow()), watch(t, l, labelled, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "b")) // leaves the label selector
	e1, f1 := frameOf(t, one, wholeObject)
	wants(t, e1, f1, wholeObject)
	ep, fp := frameOf(t, partial, partialObject)
	wants(t, ep, fp, partialObject)
	if _, f2 := frameOf(t, two, wholeObject); f2 != f1 {
		t.Error("got two frames, want one shared frame")
	}
	el, fl := frameOf(t, left, wholeObject)
	wants(t, el, fl, wholeObject)
	if ea, fa := frameOf(t, also, wholeObject); fa != fl || !strings.Contains(string(fa.Bytes), "DELETED") {
		t.Errorf("%s: got two frames, want one", describe(ea))
	}
	runtime.KeepAlive(f1)
}

// TestFeedsShareFrames: watchers with different selectors share a frame if they receive the same event type. A watcher
// that receives another type does not replace the frame.
func TestFeedsShareFrames(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all, namespace := watch(t, l, selecting(t, "", "", ""), FromNow()), watch(t, l, selecting(t, "x", "", ""), FromNow())
	left, entered := watch(t, l, selecting(t, "", "app=a", ""), FromNow()), watch(t, l, selecting(t, "", "app=b", ""), FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "b")) // moves from one label selector to the other
	ea, fa := frameOf(t, all, wholeObject)
	wants(t, ea, fa, wholeObject)
	for w, what := range map[*Watcher]string{left: "DELETED", entered: "ADDED"} {
		e, f := frameOf(t, w, wholeObject)
		wants(t, e, f, wholeObject)
		if e.Type.String() != what {
			t.Errorf("got %s, want %s", describe(e), what)
		}
	}
	if _, fn := frameOf(t, namespace, wholeObject); fn != fa {
		t.Error("got two frames, want one shared frame")
	}
	runtime.KeepAlive(fa)
}

// TestFramesThatAreNotShared: there is no frame for the only watcher of an event, for initial events, or for rows.
func TestFramesThatAreNotShared(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	lone := watch(t, l, all, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "a"))
	if _, f := frameOf(t, lone, wholeObject); f != nil {
		t.Error("got a frame for the only watcher")
	}
	node := watch(t, l, selecting(t, "", "", "spec.nodeName=n2"), FromNow())
	apply(t, l, Upsert, pod("x/p", 3, "n2", "a"))
	frameOf(t, lone, wholeObject)
	if _, f := frameOf(t, node, wholeObject); f == nil {
		t.Error("got no shared frame for two watchers")
	}
	late := watch(t, l, selecting(t, "", "", "spec.nodeName!=n1"), AfterRV(2)) // reads alone what the feeds had before
	if e, f := frameOf(t, late, wholeObject); f != nil || e.RV != 3 {
		t.Errorf("got a shared frame of %s for a watcher that reads history", describe(e))
	}
	late.Close()
	node.Close()
	initial := watch(t, l, all, InitialEvents(current(t, l)))
	for range 2 {
		if e, f := frameOf(t, initial, wholeObject); f != nil || e.Type != Added {
			t.Errorf("got a shared frame of the initial event %s", describe(e))
		}
	}
	if e, f := frameOf(t, initial, wholeObject); f != nil || e.Type != InitialEventsEnd {
		t.Errorf("got a shared frame of %s", describe(e))
	}
	apply(t, l, Upsert, pod("x/o", 4, "n1", "a"))
	if _, f := frameOf(t, initial, wire.Representation{Kind: wire.Row, Meta: wire.MetaV1}); f != nil {
		t.Error("got a shared frame of a row")
	}
}

// TestSlowWatchersGetTheirOwnFrames: a watcher that is far behind gets the frames of its events and does not replace
// those of others.
func TestSlowWatchersGetTheirOwnFrames(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	slow, one, two := watch(t, l, all, FromNow()), watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	for rv := RV(2); rv < 2+frameSlots/2; rv++ {
		apply(t, l, Upsert, pod("x/o", rv, "n1", "a"))
		frameOf(t, one, wholeObject)
		frameOf(t, two, wholeObject)
	}
	apply(t, l, Upsert, pod("x/o", 2+frameSlots/2, "n1", "a")) // takes the slot of slow's first event
	_, f1 := frameOf(t, one, wholeObject)
	e, f := frameOf(t, slow, wholeObject)
	wants(t, e, f, wholeObject)
	if _, f2 := frameOf(t, two, wholeObject); f2 != f1 {
		t.Error("an old frame replaced a newer one")
	}
	runtime.KeepAlive(f1)
}

// TestFramesAreNotPinned: a frame that no watcher sends is garbage.
func TestFramesAreNotPinned(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	one, two := watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "a"))
	frameOf(t, one, wholeObject)
	frameOf(t, two, wholeObject)
	runtime.GC()
	for i := range one.epoch.frames.slots {
		if p := one.epoch.frames.slots[i].Load(); p != nil && p.frame.Value() != nil {
			t.Error("got a frame that no watcher sends")
		}
	}
}

// BenchmarkFrames measures the cost of an event of a 15 KB object for each of 200 watchers, until its bytes can be
// sent.
func BenchmarkFrames(b *testing.B) {
	object := pod("x/o", 2, "n1", "a")
	large := shape.WithResourceVersion(object.Item(), strings.Repeat("2", 15<<10)) // as large as a real pod
	object.item.Store(&large)
	l := NewLane(podOptions)
	l.Replace(1, shape, nil)
	all, framer := selecting(b, "", "", ""), shape.Framer(wholeObject)
	watchers := make([]*Watcher, 200)
	for i := range watchers {
		watchers[i] = watch(b, l, all, FromNow())
	}
	if err := l.Apply(Change{Upsert, object}); err != nil {
		b.Fatal(err)
	}
	watchers[0].epoch.running.Wait()
	events := make([]Event, len(watchers))
	for i, w := range watchers {
		events[i], _ = w.Next()
	}
	b.Run("shared", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			at := i % len(watchers)
			if watchers[at].Frame(events[at], wholeObject, framer) == nil {
				b.Fatal("got no shared frame")
			}
		}
	})
	b.Run("each by itself", func(b *testing.B) {
		b.ReportAllocs()
		var buffer []byte
		for i := range b.N {
			e := events[i%len(watchers)]
			buffer = framer.AppendEvent(buffer[:0], e.Type.String(), e.Object.Item())
		}
	})
}

// BenchmarkFramesOfTwo measures the cost of an event of a 15 KB object for two watchers.
func BenchmarkFramesOfTwo(b *testing.B) {
	object := pod("x/o", 2, "n1", "a")
	large := shape.WithResourceVersion(object.Item(), strings.Repeat("2", 15<<10))
	object.item.Store(&large)
	framer := shape.Framer(wholeObject)
	b.Run("once, shared", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			buffer := make([]byte, 0, object.Size()+frameMargin)
			f := &Frame{Bytes: framer.AppendEvent(buffer, "ADDED", object.Item())}
			_ = &frameSlot{frame: weak.Make(f)}
		}
	})
	b.Run("twice, into buffers", func(b *testing.B) {
		b.ReportAllocs()
		var buffer []byte
		for range b.N {
			buffer = framer.AppendEvent(buffer[:0], "ADDED", object.Item())
			buffer = framer.AppendEvent(buffer[:0], "ADDED", object.Item())
		}
	})
}
