package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/price"
)

// read is a read of pods from the cache.
func read(verb, encoding string, objects int, bytes int64) *observe.Event {
	return &observe.Event{
		Method: "GET", Scope: "cluster", Verb: verb, Version: "v1", Resource: "pods", Discovered: true, Plan: "Any", Source: observe.FromCache, Code: 200,
		Encoding: encoding, Returned: objects, Looked: objects, RawBytes: bytes, Bytes: bytes,
	}
}

// Reads from the cache are saved at their price. Forwarded, refused and failed reads, and reads of undiscovered
// resources, save nothing.
func TestSavedAreReadsFromTheCache(t *testing.T) {
	m := New(Sources{})
	for _, change := range []func(*observe.Event){
		func(e *observe.Event) { e.Source = observe.FromUpstream }, func(e *observe.Event) { e.Source = observe.FromFacade }, func(e *observe.Event) { e.Code = 410 },
		func(e *observe.Event) { e.Discovered = false }, func(e *observe.Event) { e.Subresource = "status" }, func(e *observe.Event) { e.Method = "POST" },
	} {
		e := read("list", "json", 10, 1000)
		change(e)
		m.Done(e)
	}
	if s := m.Saved(); s != (Saved{}) {
		t.Errorf("got %+v, want nothing", s)
	}
	m.Done(read("list", "json", 20_000, 306_800_000))
	m.Done(read("list", "protobuf", 20_000, 225_400_000))
	m.Done(read("get", "json", 1, 15_000))
	watch := read("watch", "json", 3, 45_000)
	meter := m.Watch(watch)
	meter.Add(3, 45_000)
	meter.Sent()
	m.Done(watch)
	s := m.Saved()
	if s.Lists != 2 || s.Events != 3 || s.Bytes != 306_800_000+225_400_000+15_000+45_000 || s.Caused != 0 {
		t.Errorf("got %+v", s)
	}
	want := 3.05 + 1.59 + price.Request + price.Open // docs/benchmarks.md, without compression
	if math.Abs(s.CPU-want) > 0.1 {
		t.Errorf("got %v s, want about %v s", s.CPU, want)
	}
}

// The CPU that the facade costs kube-apiserver is counted by purpose, and does not decrease when a lane ends.
func TestCausedWorkRemains(t *testing.T) {
	lane := LaneStats{Version: "v1", Resource: "pods", Encoding: "json", Began: time.Unix(1, 0), Synced: true, Objects: 20_000, ObjectBytes: 306_800_000, Epochs: 1}
	running := []LaneStats{lane}
	m := New(Sources{Lanes: func() []LaneStats { return running }})
	if s := m.Saved(); s.Caused < 4 || s.Caused > 6 { // 5.20 s in docs/benchmarks.md
		t.Errorf("got %v s for a fill, want about 5.2", s.Caused)
	}
	filled := m.Saved().Caused
	running[0].Applied = 1000
	m.Asked("probe", 200, time.Second)
	m.Asked("review", 201, time.Second)
	m.Asked("passthrough", 200, time.Second)
	after := m.Saved().Caused
	if want := filled + price.Probe + price.Review + price.Events(1000, 1000*306.8e6/1.36/20_000); math.Abs(after-want) > 1e-6 {
		t.Errorf("got %v s, want %v", after, want)
	}
	running = nil
	if s := m.Saved(); math.Abs(s.Caused-after) > 1e-9 {
		t.Errorf("got %v s after the lane ended, want %v", s.Caused, after)
	}
	lane.Began = time.Unix(2, 0)
	running = []LaneStats{lane}
	if s := m.Saved(); math.Abs(s.Caused-after-filled) > 1e-9 {
		t.Errorf("got %v s after another lane was filled, want %v", s.Caused, after+filled)
	}
}

// Counting a read allocates nothing.
func TestSavedReadsAllocateNothing(t *testing.T) {
	var s savedReads
	e := read("list", "json", 10, 1000)
	if n := testing.AllocsPerRun(100, func() { s.done(e) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
