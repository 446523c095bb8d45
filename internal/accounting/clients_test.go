package accounting

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Requests that have ended are counted by each kind of cost.
func TestDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewClients(nil)
		e := event("amy", "kubectl/v1.37", 5000)
		e.Looked, e.Returned, e.Selector = 7, 3, "label app in"
		e.Waits[observe.Proving] = 400 * time.Microsecond
		c.Done(e)
		c.Done(e)
		watch := event("bob", "node", 100)
		watch.Verb, watch.Returned, watch.Source = "watch", 9, observe.FromUpstream
		c.Done(watch)
		key := Key{
			User: "amy", UserAgent: "kubectl/v1.37", Verb: "list", Version: "v1", Resource: "pods", Scope: "cluster", Selector: "label app in",
			Mode: "Any", Source: "cache",
		}
		other := key
		other.User, other.UserAgent, other.Verb, other.Selector, other.Source = "bob", "node", "watch", "", "upstream"
		for by, want := range map[By][]Client{
			Bytes:     {{Key: key, Estimate: 10000}, {Key: other, Estimate: 100}},
			CPU:       {{Key: key, Estimate: 1_200_000}, {Key: other, Estimate: 1_000_000}},
			Objects:   {{Key: key, Estimate: 14}},
			Forwarded: {{Key: other, Estimate: 1}},
			Events:    {{Key: other, Estimate: 9}},
		} {
			got := c.Top(by, time.Minute, 10)
			if diff := cmp.Diff(want, got.Clients); diff != "" {
				t.Errorf("%s: got %s", by, diff)
			}
			if got.By != by.String() || got.Keys != len(want) || got.Unlisted != 0 {
				t.Errorf("%s: got %+v", by, got)
			}
		}
		if got := c.Top(Bytes, time.Minute, 1); len(got.Clients) != 1 || got.Total != 10100 || got.Keys != 2 {
			t.Errorf("got %+v", got)
		}
	})
}

// A window contains full minutes and the current one. Older minutes are dropped from the ring.
func TestWindows(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewClients(nil)
		for range 20 {
			c.Done(event("amy", "a", 1))
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		}
		for window, want := range map[time.Duration]int64{
			time.Second: 1, time.Minute: 1, 61 * time.Second: 2, 5 * time.Minute: 5, MaxWindow: 15, time.Hour: 15,
		} {
			got := c.Top(Bytes, window, 10)
			if got.Total != want || len(got.Clients) != 1 || got.Clients[0].Estimate != want {
				t.Errorf("%s: got %+v, want %d", window, got, want)
			}
		}
		time.Sleep(MaxWindow + time.Minute) //nolint:forbidigo // virtual time
		if got := c.Top(Bytes, MaxWindow, 10); got.Total != 0 || len(got.Clients) != 0 {
			t.Errorf("after a pause: %+v", got)
		}
	})
}

// If the clock is set back, minutes in the future are cleared. Setting it back by one minute changes nothing.
func TestClockSetBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewClients(nil)
		c.minuteAt(time.Now().Add(time.Hour))
		ahead := event("amy", "a", 1)
		ahead.Began = ahead.Began.Add(time.Hour)
		for range 3 {
			c.Done(ahead)
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		}
		for window, want := range map[time.Duration]int64{time.Minute: 1, 2 * time.Minute: 2, MaxWindow: 3} {
			if got := c.Top(Bytes, window, 10).Total; got != want {
				t.Errorf("%s: got %d, want %d", window, got, want)
			}
		}
		now := c.minuteAt(time.Now())
		if c.minuteAt(time.Now().Add(-time.Minute)) != now {
			t.Error("got another minute after the clock was set back by one")
		}
	})
}

// Requests in flight are counted before they end, and only once.
func TestRequestsInFlightAreCounted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(observe.Inflight)
		c := NewClients(inflight)
		e := event("amy", "informer", 0)
		e.Verb, e.Took = "watch", 0
		var p observe.Progress
		p.Follow(e)
		inflight.Began(e)
		send := func(bytes, events int) {
			p.Wakes()
			p.Writes(time.Now())
			p.Wrote(bytes)
			p.Sent(events)
			p.Rests()
		}
		total := func(by By, want int64) {
			t.Helper()
			if got := c.Top(by, time.Minute, 10).Total; got != want {
				t.Errorf("%s: got %d, want %d", by, got, want)
			}
		}
		p.Rests()
		send(1000, 1)
		total(Bytes, 0) // the caller is not known yet
		p.Known()
		p.Answering()
		total(Bytes, 1000)
		total(Bytes, 1000)
		send(1000, 4)
		total(Events, 4)
		total(Bytes, 2000)
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		total(CPU, 0)         // it was idle
		send(500, 5)
		inflight.Done(e)
		e.Took, e.Bytes, e.Returned = time.Hour, 2500, 5
		c.Done(e)
		total(Bytes, 500)
		total(Events, 1)
		total(CPU, 0)
	})
}

// Run counts at an interval, without calls of Top.
func TestRunCountsAtAnInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		inflight := new(observe.Inflight)
		c := NewClients(inflight)
		var p observe.Progress
		e := event("amy", "informer", 0)
		p.Follow(e)
		inflight.Began(e)
		p.Answering()
		p.Writes(time.Now())
		p.Wrote(1000)
		go c.Run(t.Context())
		time.Sleep(collectEvery + time.Second) //nolint:forbidigo // virtual time
		inflight.Done(e)
		if got := c.Top(Bytes, time.Minute, 1).Total; got != 1000 {
			t.Errorf("got %d bytes", got)
		}
	})
}

// hostile counts requests with random long texts.
func hostile(c *Clients, requests int) {
	long := strings.Repeat("x", 4096)
	for i := range requests {
		e := event("mallory", fmt.Sprint(i, "\x1b[2J\xff", long), 1000)
		e.Selector, e.Resource, e.Discovered, e.Looked = fmt.Sprint("label ", i, long), fmt.Sprint("r", i, long), false, 1
		c.Done(e)
	}
}

// TestHostileTexts: a client with random texts uses no additional memory, does not hide other clients, and is listed.
func TestHostileTexts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewClients(nil)
		for range 50 {
			c.Done(event("amy", "kubectl", 1000))
		}
		hostile(c, 5_000) // fills all summaries
		before := heap()
		hostile(c, settings.Amount(6000, 30_000))
		if grown := int64(heap()) - int64(before); grown > 2<<20 {
			t.Errorf("got %d more bytes of memory", grown)
		}
		top := c.Top(Bytes, time.Minute, 1000)
		first := top.Clients[0]
		if first.User != "mallory" || first.UserAgent != Others || first.Selector != Others || first.Resource != Others || first.Estimate < top.Total/2 {
			t.Errorf("got first client %+v, total %d", first, top.Total)
		}
		found := false
		for _, client := range top.Clients {
			found = found || client.User == "amy" && client.Estimate >= 50_000
			text := fmt.Sprintf("%+v", client.Key)
			if len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%.200q", text)
			}
		}
		if !found {
			t.Error("got no other clients in the ranking")
		}
		var text strings.Builder
		if err := top.WriteText(&text); err != nil || len(text.String()) > 1<<20 {
			t.Errorf("got %d bytes of text, %v", text.Len(), err)
		}
	})
}

// TestManyUsers: memory is bounded also with very many users.
func TestManyUsers(t *testing.T) {
	c := NewClients(nil)
	users := settings.Amount(5000, 20_000)
	for i := range users {
		c.Done(event(fmt.Sprint("system:node:", i), "kubelet", 10))
	}
	got := c.Top(Bytes, time.Minute, 10_000)
	if len(got.Clients) > 2*mostKeys || got.Total != int64(10*users) || got.Unlisted == 0 {
		t.Errorf("got %d clients, total %d, unlisted %d", len(got.Clients), got.Total, got.Unlisted)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The text has a header, and amounts with short units.
func TestWriteText(t *testing.T) {
	r := Ranking{
		By: "bytes", From: time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC), To: time.Date(2030, 1, 2, 3, 9, 30, 0, time.UTC), Total: 40 << 30,
		Keys: 300, Unlisted: 5,
		Clients: []Client{{Key: Key{User: "amy", UserAgent: "x/1 (y)", Verb: "list", Group: "apps", Version: "v1", Resource: "deployments", Scope: "cluster", Source: "cache"}, Estimate: 20 << 30, Error: 7}},
	}
	const want = `bytes, 03:04:00 to 03:09:30 (5m30s): 40Gi in total; 300 kinds of requests known, 1 listed
The cost of each kind is between ESTIMATE - ERROR and ESTIMATE. The cost of each unknown kind is at most 5.
ESTIMATE   ERROR   SHARE   USER   USER-AGENT   VERB   RESOURCE           VERSION   SCOPE     SELECTOR   MODE     SOURCE
20Gi       7       50%     amy    x/1 (y)      list   deployments.apps   v1        cluster   <none>     <none>   cache
`
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	r.By = "cpu"
	for n, want := range map[int64]string{1_234_567_890: "1.23s", 45_678: "45.7µs", 12: "12ns", 0: "0s"} {
		if got := r.amount(n); got != want {
			t.Errorf("%d ns: got %s, want %s", n, got, want)
		}
	}
}
