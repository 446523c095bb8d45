package observe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// placed is the position of a watch.
type placed struct {
	at     uint64
	behind int64
}

// Position implements Cursor.
func (p placed) Position() uint64 { return p.at }

// Behind implements Cursor.
func (p placed) Behind() int64 { return p.behind }

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // virtual time

// newOpen returns a request that has just arrived.
func newOpen(inflight *Inflight, verb, uri string) (*Event, *Progress) {
	e := &Event{AuditID: "id", Client: "1.2.3.4:5", UserAgent: "agent", Method: "GET", URI: uri, Source: FromFacade, Began: time.Now()}
	p := new(Progress)
	p.Follow(e)
	inflight.Began(e)
	e.User, e.Verb, e.Resource, e.Version, e.Namespace = "amy", verb, "pods", "v1", "ns"
	return e, p
}

// Operators see more of a request as it proceeds, and the cause of its wait.
func TestOpenRequest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(Inflight)
		e, p := newOpen(inflight, "list", "/api/v1/namespaces/ns/pods?labelSelector=a%3Db&limit=7&fieldSelector=x%3Dy&resourceVersion=5&resourceVersionMatch=Exact")
		want := Open{AuditID: "id", Client: "1.2.3.4:5", UserAgent: "agent", Verb: "GET", State: "working"}
		is := func() {
			t.Helper()
			list := inflight.Requests("age", 10)
			if diff := cmp.Diff(OpenList{Total: 1, Items: []Open{want}}, list); diff != "" {
				t.Error(diff)
			}
		}
		is()
		p.Known()
		pass(time.Second)
		want.AgeSeconds = 1
		want.User, want.Verb, want.Resource, want.Version, want.Namespace = "amy", "list", "pods", "v1", "ns"
		want.LabelSelector, want.FieldSelector, want.Limit, want.ResourceVersion, want.ResourceVersionMatch = "a=b", "x=y", "7", "5", "Exact"
		is()
		began := e.Waiting(Queueing)
		pass(time.Second)
		want.AgeSeconds, want.State, want.StateSeconds, want.WaitsFor = 2, "queueing", 1, "facade"
		is()
		e.Waited(Queueing, began)
		e.Plan, e.Source, e.Reason = "Exact", FromUpstream, OutsideWindow
		want.State, want.StateSeconds, want.WaitsFor = "working", 0, ""
		is()
		p.Answering()
		want.Mode, want.Source, want.Reason = "Exact", "upstream", "outside_window"
		is()
		began = e.Waiting(Asking)
		pass(time.Second)
		want.AgeSeconds, want.State, want.StateSeconds, want.WaitsFor = 3, "asking", 1, "upstream"
		is()
		p.Writes(time.Now())
		pass(2 * time.Second)
		want.AgeSeconds, want.State, want.StateSeconds, want.WaitsFor = 5, "writing", 2, "client"
		is()
		p.Wrote(100)
		want.State, want.StateSeconds, want.WaitsFor, want.Bytes = "asking", 3, "upstream", 100
		is()
		e.Waited(Asking, began)
		if waited := e.Waits[Asking]; waited != 3*time.Second {
			t.Errorf("got %s in the step Asking", waited)
		}
		if busy := p.busy(time.Since(e.Began)); busy != time.Second+writeWork+100*writtenByte {
			t.Errorf("got a busy time of %s", busy)
		}
		inflight.Done(e)
		if list := inflight.Requests("age", 10); list.Total != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

// Operators see how far a watch lags behind, and for how long.
func TestOpenWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(Inflight)
		_, p := newOpen(inflight, "watch", "/api/v1/pods?watch=1")
		pass(time.Second)
		p.Known()
		p.Watching(placed{at: 77, behind: 3})
		is := func(state, waitsFor string, want OpenWatch) {
			t.Helper()
			list := inflight.Watches("lag", 10)
			if list.Total != 1 || inflight.Requests("age", 10).Total != 0 {
				t.Fatalf("got %+v", list)
			}
			got := list.Items[0]
			if diff := cmp.Diff(want, *got.OpenWatch); diff != "" || got.State != state || got.WaitsFor != waitsFor {
				t.Errorf("%s for %s: %s", got.State, got.WaitsFor, diff)
			}
		}
		is("working", "", OpenWatch{At: 77, LagEvents: 3, LagSeconds: 1})
		p.Rests()
		pass(time.Hour)
		is("idle", "events", OpenWatch{At: 77, LagEvents: 3})
		p.Wakes()
		p.Writes(time.Now())
		pass(9 * time.Second)
		is("writing", "client", OpenWatch{At: 77, LagEvents: 3, LagSeconds: 9})
		p.Wrote(10)
		p.Sent(2)
		p.Rests()
		is("idle", "events", OpenWatch{At: 77, LagEvents: 3, Events: 2})
	})
}

// A watch that the upstream answers has no position. Its lag is the time of a blocked write.
func TestOpenForwardedWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(Inflight)
		e, p := newOpen(inflight, "watch", "/api/v1/secrets?watch=1")
		p.Known()
		p.Answering()
		e.Waiting(Asking)
		pass(time.Minute)
		if got := inflight.Watches("lag", 1).Items[0]; got.LagSeconds != 0 || got.WaitsFor != "upstream" {
			t.Errorf("got %+v %+v", got, got.OpenWatch)
		}
		p.Writes(time.Now())
		pass(time.Minute)
		if got := inflight.Watches("lag", 1).Items[0]; got.LagSeconds != 60 || got.WaitsFor != "client" {
			t.Errorf("got %+v %+v", got, got.OpenWatch)
		}
	})
}

// Lists are sorted by the requested order and truncated.
func TestOpenOrders(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(Inflight)
		for i := range 100 {
			_, p := newOpen(inflight, "watch", "/")
			p.event.Name = fmt.Sprint(i)
			p.Known()
			p.Watching(placed{})
			p.Sent(i * 7 % 100)
			p.Writes(time.Now())
			p.Wrote(i * 13 % 100)
			pass(time.Second)
			if i%2 == 0 {
				p.Rests()
			}
		}
		for by, want := range map[string]string{"age": "0 1 2", "events": "57 14 71", "bytes": "23 46 69", "lag": "1 3 5"} {
			list := inflight.Watches(by, 3)
			var names []string
			for _, item := range list.Items {
				names = append(names, item.Name)
			}
			if got := strings.Join(names, " "); got != want || list.Total != 100 {
				t.Errorf("by %s: %s of %d, want %s", by, got, list.Total, want)
			}
		}
	})
}

// Text from clients is truncated and printable, and valid in JSON.
func TestOpenIsPrintable(t *testing.T) {
	inflight := new(Inflight)
	e, p := newOpen(inflight, "watch", "/api/v1/pods?labelSelector=%1b%5b2J&limit="+strings.Repeat("x", 3000))
	e.UserAgent = "\x1b[31m" + strings.Repeat("y", 1<<16)
	p.Known()
	_, long := newOpen(inflight, "watch", "/?"+strings.Repeat("x", mostURI))
	long.Known()
	list := inflight.Watches("age", 10)
	var text strings.Builder
	if err := list.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(text.String(), 0x1b) || text.Len() > 4000 || strings.Count(text.String(), "\n") != 4 {
		t.Errorf("got %q", &text)
	}
	encoded, err := json.Marshal(list)
	if err != nil || len(encoded) > 4000 || !strings.Contains(string(encoded), "the URL is long") {
		t.Errorf("got %s %v", encoded, err)
	}
}

// Requests begin and end while other goroutines read and charge them. The charges add up to their costs.
func TestInflightConcurrently(t *testing.T) {
	inflight, began := new(Inflight), time.Now()
	var requests, lookers sync.WaitGroup
	var mu sync.Mutex
	var charged Cost
	charge := func(c Cost) {
		mu.Lock()
		defer mu.Unlock()
		charged = charged.plus(c)
	}
	done := make(chan struct{})
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				inflight.Requests("age", 5)
				inflight.Watches("lag", 5)
				for p := range inflight.All() {
					if _, cost, ok := p.Charge(); ok {
						charge(cost)
					}
				}
			}
		})
	}
	const at, each, bytes = 8, 200, 10
	for range at {
		requests.Go(func() {
			for range each {
				e, p := newOpen(inflight, "watch", "/api/v1/pods?watch=1")
				p.Known()
				e.Waited(Proving, e.Waiting(Proving))
				e.Plan = "Any"
				p.Watching(placed{at: 1})
				for i := range 3 {
					p.Rests()
					p.Wakes()
					p.Writes(time.Now())
					p.Wrote(bytes)
					p.Sent(i + 1)
				}
				inflight.Done(e)
				e.Took, e.Bytes, e.Returned = time.Since(e.Began), 3*bytes, 3
				charge(e.Charge())
			}
		})
	}
	requests.Wait()
	close(done)
	lookers.Wait()
	all := at * time.Since(began) // the longest time that requests can have been in flight
	if charged.Bytes != at*each*3*bytes || charged.Events != at*each*3 || charged.CPU < 0 || charged.CPU > all {
		t.Errorf("got charges of %+v in %s", charged, all)
	}
	if left := slices.Collect(inflight.All()); len(left) != 0 {
		t.Errorf("got %d requests in flight, want none", len(left))
	}
}
