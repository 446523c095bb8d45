package cache

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

var packingOptions = Options{Packing: Packing{From: 10 << 10, After: 5 * time.Second}}

// fillOf returns objects at rv that were added to a Filling, as those of a list.
func fillOf(l *Lane, rv RV, count int) []*Object {
	filling := l.Fill()
	var objects []*Object
	for i := range count {
		o := podNumber(i, rv)
		filling.Add(o)
		objects = append(objects, o)
	}
	return objects
}

func podNumber(i int, rv RV) *Object {
	return pod(fmt.Sprintf("ns-%d/pod-%03d", i%3, i), rv, fmt.Sprintf("node-%d", i%7), "app")
}

// whole checks that every object of the State has its original content, and counts those that are packed.
func whole(t *testing.T, l *Lane) (packed int) {
	t.Helper()
	for o := range current(t, l).Objects(Span{}) {
		sameText(t, o)
		if o.Item().Packed() {
			packed++
		}
	}
	return packed
}

// sameText checks that an object's JSON has its original content.
func sameText(t *testing.T, o *Object) {
	t.Helper()
	fresh := itemOf(o.Key(), o.RV, o.Field(nodeField), o.Labels().Get("app"))
	if want, got := textOf(&fresh), textOf(o.Item()); want != got {
		t.Errorf("%s at %d: got\n%s, want\n%s", o.Key(), o.RV, got, want)
	}
}

// TestListsArePackedOnArrival: only the objects for the dictionary are ever in memory unpacked.
func TestListsArePackedOnArrival(t *testing.T) {
	l := NewLane(packingOptions)
	l.verifying = true
	objects := fillOf(l, 1, 400)
	for i, o := range objects {
		if !o.Item().Packed() {
			t.Fatalf("object %d of %d is not packed", i, len(objects))
		}
	}
	l.Replace(1, shape, objects)
	equal(t, "packed", whole(t, l), 400)
	stats := l.Stats()
	if stats.ObjectMemory >= stats.ObjectBytes {
		t.Errorf("got %d bytes of memory for %d bytes of objects", stats.ObjectMemory, stats.ObjectBytes)
	}
}

// TestSmallLanesAreNotPacked: a lane is not packed until it has enough objects.
func TestSmallLanesAreNotPacked(t *testing.T) {
	l := newTestLane(t, packingOptions, 1)
	l.Replace(1, shape, fillOf(l, 1, 5))
	l.Pack(time.Now())
	equal(t, "packed of 5", whole(t, l), 0)
	for i := range 100 {
		apply(t, l, Upsert, podNumber(i+5, RV(i+2)))
	}
	l.Pack(time.Now())
	equal(t, "packed of 105", whole(t, l), 105)
}

// TestChangedObjectsArePackedLater: changed objects are packed after a while, in the State or in history, and history
// is charged for the new size.
func TestChangedObjectsArePackedLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLane(packingOptions)
		l.verifying = true
		l.Replace(1, shape, fillOf(l, 1, 200))
		l.Pack(time.Now())
		w := watch(t, l, selecting(t, "", "", ""), AfterRV(1))
		rv := RV(1)
		for range 3 { // leaves most of them in history only
			for i := range 60 {
				rv++
				apply(t, l, Upsert, podNumber(i, rv))
			}
		}
		rv++
		apply(t, l, Delete, podNumber(100, rv))
		l.Pack(time.Now())
		equal(t, "packed immediately", whole(t, l), 139)
		before := l.Stats().HistoryBytes
		pass(6 * time.Second)
		l.Pack(time.Now())
		equal(t, "packed later", whole(t, l), 199)
		charged := int64(0)
		h := current(t, l).epoch.history
		for seq := range h.end.Load() {
			e := h.at(seq)
			charged += e.cost()
			for _, o := range []*Object{e.before, e.now, e.deleted.Load()} {
				if o != nil && !o.Item().Packed() {
					t.Errorf("event %d: got %s at %d unpacked", seq, o.Key(), o.RV)
				}
			}
		}
		equal(t, "bytes of history", l.Stats().HistoryBytes, charged)
		if charged >= before {
			t.Errorf("got %d bytes of history, %d before packing", charged, before)
		}
		events := 0
		for e, ok := w.Next(); ok; e, ok = w.Next() {
			sameText(t, e.Object)
			events++
		}
		equal(t, "events", events, 181)
	})
}

// TestDroppedEventsArePackedInTheState: an object is packed in the State if its event was dropped before it was due.
func TestDroppedEventsArePackedInTheState(t *testing.T) {
	o := packingOptions
	o.HistoryBytes, o.HistoryWindow = 1, 1
	l := newTestLane(t, o, 1)
	l.floor = floor{}
	l.Replace(1, shape, fillOf(l, 1, 200))
	l.Pack(time.Now())
	for i := range 3 * segmentSize {
		apply(t, l, Upsert, podNumber(i%150, RV(i+2)))
	}
	l.Pack(time.Now())
	l.Trim()
	l.Pack(time.Now().Add(time.Minute))
	equal(t, "packed", whole(t, l), 200)
}

// TestAnotherDictionary: when new objects differ from old ones, the lane gets another dictionary. Objects packed before
// are read with the old one.
func TestAnotherDictionary(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLane(packingOptions)
		l.verifying = false // unlike objects take long to unpack; set again at the end
		l.Replace(1, shape, fillOf(l, 1, 2*sampled))
		first, random := l.dictionary.Load(), rand.New(rand.NewPCG(1, 2))
		strange := func(from, count int) {
			for i := range count {
				var node strings.Builder
				for range 30 {
					fmt.Fprintf(&node, "%016x", random.Uint64())
				}
				apply(t, l, Upsert, pod("ns-0/"+strconv.Itoa(from+i), RV(from+i), node.String(), ""))
			}
			pass(6 * time.Second)
			l.Pack(time.Now())
		}
		strange(2, 2*judged)
		if l.dictionary.Load() != first {
			t.Fatal("got another dictionary although the first is new")
		}
		pass(lasting)
		strange(5000, 10)
		if l.dictionary.Load() == first {
			t.Errorf("objects take %.2f of what they were, at first %.2f, with the same dictionary",
				l.packer.latest.ratio(), first.ratio)
		}
		l.verifying = true
		strange(6000, 10)
		whole(t, l)
	})
}

// TestPackingIsConcurrent packs, writes, lists and watches at the same time.
func TestPackingIsConcurrent(t *testing.T) {
	o := podOptions
	o.Packing = Packing{From: 1}
	l := NewLane(o)
	l.Replace(1, shape, fillOf(l, 1, 100))
	w := watch(t, l, selecting(t, "", "app=app", ""), AfterRV(1))
	last := RV(settings.Amount(500, 1500))
	done := make(chan struct{})
	var all sync.WaitGroup
	until := func(work func()) {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					work()
				}
			}
		})
	}
	until(func() { l.Pack(time.Now()) })
	until(func() {
		s, err := l.State()
		if err != nil {
			t.Error(err)
			return
		}
		for o := range s.Objects(Span{}) {
			sameText(t, o)
		}
	})
	all.Go(func() {
		defer close(done)
		for seen := RV(0); seen < last; {
			more := w.Wait()
			for e, ok := w.Next(); ok; e, ok = w.Next() {
				seen = e.RV
				sameText(t, e.Object)
			}
			if err := w.Err(); err != nil {
				t.Error(err)
				return
			}
			if seen < last {
				<-more
			}
		}
	})
	for rv := RV(2); rv <= last; rv++ {
		kind := Upsert
		if rv%10 == 0 && rv != last {
			kind = Delete
		}
		apply(t, l, kind, podNumber(int(rv)%100, rv))
	}
	all.Wait()
	l.verifying = true
	l.Pack(time.Now())
	l.Progress(last + 1)
}

// TestSparseBlocksAreGathered: when most objects of a list have changed and history has dropped their old versions, the
// others are moved out of the shared blocks.
func TestSparseBlocksAreGathered(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		count := settings.Amount(1000, 3000) // several blocks, because the objects have little in common
		l, rv := NewLane(packingOptions), RV(1)
		l.floor, l.verifying = floor{}, false
		filling := l.Fill()
		var objects []*Object
		for i := range count {
			objects = append(objects, unlike(i, 1))
			filling.Add(objects[i])
		}
		l.Replace(rv, shape, objects)
		l.Pack(time.Now())
		change := func(which func(i int) bool) {
			for i := range count {
				if which(i) {
					rv++
					apply(t, l, Upsert, unlike(i, rv))
				}
			}
		}
		change(func(i int) bool { return i%3 > 0 })
		equal(t, "objects in sparse blocks while history has the others", sparse(t, l), 0)
		pass(time.Hour)
		change(func(i int) bool { return i%30 == 0 })
		if sparse(t, l) < count/5 {
			t.Errorf("got %d objects in sparse blocks", sparse(t, l))
		}
		l.verifying = true
		pass(time.Minute)
		l.Pack(time.Now())
		equal(t, "objects in sparse blocks", sparse(t, l), 0)
		equal(t, "packed", whole(t, l), count)
		for _, o := range objects {
			sameText(t, o)
		}
	})
}

// TestReplayKeepsNoBlocks: of a list that is replayed, only changed objects stay in memory.
func TestReplayKeepsNoBlocks(t *testing.T) {
	l := NewLane(packingOptions)
	l.verifying = true
	l.Replace(1, shape, fillOf(l, 1, 400))
	defer l.Expect()()
	list := fillOf(l, 1, 400)
	filling := l.Fill()
	list[7] = podNumber(7, 2)
	filling.Add(list[7])
	shared := list[7].Item()
	if err := l.Replay(2, list); err != nil {
		t.Fatal(err)
	}
	now, _ := current(t, l).Get(list[7].Key())
	if now != list[7] || now.Item() == shared || !now.Item().Packed() {
		t.Error("got a changed object in a block of the list")
	}
	equal(t, "packed", whole(t, l), 400)
}

// unlike returns an object that has little in common with others.
func unlike(i int, rv RV) *Object {
	var own strings.Builder
	random := rand.New(rand.NewPCG(uint64(i), uint64(rv))) //nolint:gosec // the same each time
	for range 20 {
		own.WriteString(strconv.FormatUint(random.Uint64(), 36))
	}
	return pod(fmt.Sprintf("ns/pod-%04d", i), rv, "node", own.String())
}

// sparse counts the objects in blocks of which most is unused.
func sparse(t *testing.T, l *Lane) (n int) {
	t.Helper()
	for o := range current(t, l).Objects(Span{}) {
		if o.Item().Sparse() {
			n++
		}
	}
	return n
}
