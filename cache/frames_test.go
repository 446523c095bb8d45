package cache

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

var (
	wholeForm   = wire.Representation{Kind: wire.Whole}
	partialForm = wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
)

// frameOf is the next event of a watcher and its frame.
func frameOf(t *testing.T, w *Watcher, representation wire.Representation) (Event, *Frame) {
	t.Helper()
	w.epoch.running.Wait()
	e, ok := w.Next()
	if !ok {
		t.Fatal("no event")
	}
	return e, w.Frame(e, representation, shape.Framer(representation))
}

// wants fails the test unless a frame is what its watcher's own framer would write.
func wants(t *testing.T, e Event, f *Frame, representation wire.Representation) {
	t.Helper()
	if f == nil {
		t.Fatalf("%s is not shared", describe(e))
	}
	equal(t, describe(e), string(f.Bytes), string(shape.Framer(representation).AppendEvent(nil, e.Type.String(), e.Object.Item())))
}

// TestFramesAreShared: watchers of a feed share a frame for each form, and each gets its own event's.
func TestFramesAreShared(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all, labelled := selecting(t, "", "", ""), selecting(t, "", "app=a", "")
	one, two, partial := watch(t, l, all, FromNow()), watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	left, also := watch(t, l, labelled, FromNow()), watch(t, l, labelled, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "b")) // which leaves the label's selection
	e1, f1 := frameOf(t, one, wholeForm)
	wants(t, e1, f1, wholeForm)
	ep, fp := frameOf(t, partial, partialForm)
	wants(t, ep, fp, partialForm)
	if _, f2 := frameOf(t, two, wholeForm); f2 != f1 {
		t.Error("a frame was written twice")
	}
	el, fl := frameOf(t, left, wholeForm)
	wants(t, el, fl, wholeForm)
	if ea, fa := frameOf(t, also, wholeForm); fa != fl || !strings.Contains(string(fa.Bytes), "DELETED") {
		t.Errorf("%s was written twice", describe(ea))
	}
	runtime.KeepAlive(f1)
}

// TestFramesAreSharedOverFeeds: watchers that select differently and are told the same share its frame; who is told
// something else of the same event does not take its place.
func TestFramesAreSharedOverFeeds(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all, namespace := watch(t, l, selecting(t, "", "", ""), FromNow()), watch(t, l, selecting(t, "x", "", ""), FromNow())
	left, entered := watch(t, l, selecting(t, "", "app=a", ""), FromNow()), watch(t, l, selecting(t, "", "app=b", ""), FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "b")) // which moves from one label's selection to the other's
	ea, fa := frameOf(t, all, wholeForm)
	wants(t, ea, fa, wholeForm)
	for w, what := range map[*Watcher]string{left: "DELETED", entered: "ADDED"} {
		e, f := frameOf(t, w, wholeForm)
		wants(t, e, f, wholeForm)
		if e.Type.String() != what {
			t.Errorf("%s, not %s", describe(e), what)
		}
	}
	if _, fn := frameOf(t, namespace, wholeForm); fn != fa {
		t.Error("a frame was written twice")
	}
	runtime.KeepAlive(fa)
}

// TestFramesThatAreNotShared: who alone is told, initial events and rows have none.
func TestFramesThatAreNotShared(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	lone := watch(t, l, all, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "a"))
	if _, f := frameOf(t, lone, wholeForm); f != nil {
		t.Error("a watcher that is alone has its frame kept")
	}
	node := watch(t, l, selecting(t, "", "", "spec.nodeName=n2"), FromNow())
	apply(t, l, Upsert, pod("x/p", 3, "n2", "a"))
	frameOf(t, lone, wholeForm)
	if _, f := frameOf(t, node, wholeForm); f == nil {
		t.Error("what another watcher is told too is not shared")
	}
	late := watch(t, l, selecting(t, "", "", "spec.nodeName!=n1"), AfterRV(2)) // alone with what the feeds had before
	if e, f := frameOf(t, late, wholeForm); f != nil || e.RV != 3 {
		t.Errorf("%s is shared with who was told before", describe(e))
	}
	late.Close()
	node.Close()
	initial := watch(t, l, all, InitialEvents(current(t, l)))
	for range 2 {
		if e, f := frameOf(t, initial, wholeForm); f != nil || e.Type != Added {
			t.Errorf("the initial %s is shared", describe(e))
		}
	}
	if e, f := frameOf(t, initial, wholeForm); f != nil || e.Type != InitialEventsEnd {
		t.Errorf("%s is shared", describe(e))
	}
	apply(t, l, Upsert, pod("x/o", 4, "n1", "a"))
	if _, f := frameOf(t, initial, wire.Representation{Kind: wire.Row, Meta: wire.MetaV1}); f != nil {
		t.Error("a row is shared")
	}
}

// TestFramesOfLaggards: who is far behind gets its own events' frames, and takes nothing from the others.
func TestFramesOfLaggards(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	slow, one, two := watch(t, l, all, FromNow()), watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	for rv := RV(2); rv < 2+frameSlots/2; rv++ {
		apply(t, l, Upsert, pod("x/o", rv, "n1", "a"))
		frameOf(t, one, wholeForm)
		frameOf(t, two, wholeForm)
	}
	apply(t, l, Upsert, pod("x/o", 2+frameSlots/2, "n1", "a")) // in the place of slow's first
	_, f1 := frameOf(t, one, wholeForm)
	e, f := frameOf(t, slow, wholeForm)
	wants(t, e, f, wholeForm)
	if _, f2 := frameOf(t, two, wholeForm); f2 != f1 {
		t.Error("a laggard took the place of a newer frame")
	}
	runtime.KeepAlive(f1)
}

// TestFramesAreNotPinned: what nobody sends is garbage.
func TestFramesAreNotPinned(t *testing.T) {
	l := newTestLane(t, podOptions, 1, pod("x/o", 1, "n1", "a"))
	all := selecting(t, "", "", "")
	one, two := watch(t, l, all, FromNow()), watch(t, l, all, FromNow())
	apply(t, l, Upsert, pod("x/o", 2, "n1", "a"))
	frameOf(t, one, wholeForm)
	frameOf(t, two, wholeForm)
	runtime.GC()
	for i := range one.epoch.frames.slots {
		if p := one.epoch.frames.slots[i].Load(); p != nil && p.frame.Value() != nil {
			t.Error("a frame outlives those who send it")
		}
	}
}

// BenchmarkFrames tells what an event of a 15 KB object costs each of 200 watchers until its bytes can be sent.
func BenchmarkFrames(b *testing.B) {
	object := pod("x/o", 2, "n1", "a")
	large := shape.WithResourceVersion(object.Item(), strings.Repeat("2", 15<<10)) // as large as a pod
	object.item.Store(&large)
	l := NewLane(podOptions)
	l.Replace(1, shape, nil)
	all, framer := selecting(b, "", "", ""), shape.Framer(wholeForm)
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
			if watchers[at].Frame(events[at], wholeForm, framer) == nil {
				b.Fatal("not shared")
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

// BenchmarkFramesOfTwo tells what an event of a 15 KB object costs the only two watchers that are told.
func BenchmarkFramesOfTwo(b *testing.B) {
	object := pod("x/o", 2, "n1", "a")
	large := shape.WithResourceVersion(object.Item(), strings.Repeat("2", 15<<10))
	object.item.Store(&large)
	framer := shape.Framer(wholeForm)
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
