package accounting

import (
	"fmt"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// BenchmarkDone measures counting a request: with a known key, with one of very many clients, and with texts that no
// request has sent before.
func BenchmarkDone(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		c, e := NewClients(nil), event("system:serviceaccount:ns:controller", "controller/v1.37.1 (linux/amd64) kubernetes/abcdef0", 2000)
		e.Looked = 1
		b.ReportAllocs()
		for b.Loop() {
			c.Done(e)
		}
	})
	b.Run("known, in parallel", func(b *testing.B) {
		c := NewClients(nil)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			e := event("system:serviceaccount:ns:controller", "controller/v1.37.1 (linux/amd64) kubernetes/abcdef0", 2000)
			for pb.Next() {
				c.Done(e)
			}
		})
	})
	b.Run("made up", func(b *testing.B) {
		c := NewClients(nil)
		agents := make([]string, 1<<16)
		for i := range agents {
			agents[i] = fmt.Sprint("agent ", i)
		}
		e, i := event("mallory", "", 2000), 0
		b.ReportAllocs()
		for b.Loop() {
			e.UserAgent = agents[i%len(agents)]
			i++
			c.Done(e)
		}
	})
}

// BenchmarkProgress measures the cost of a request's Progress, with five waits and one write.
func BenchmarkProgress(b *testing.B) {
	inflight := new(observe.Inflight)
	e := event("amy", "a", 1)
	p := new(observe.Progress)
	b.ReportAllocs()
	for b.Loop() {
		p.Follow(e)
		inflight.Began(e)
		p.Known()
		for step := range observe.Step(5) {
			e.Waited(step, e.Waiting(step))
		}
		p.Answering()
		p.Writes(time.Now())
		p.Wrote(2000)
		inflight.Done(e)
	}
}

// BenchmarkTop measures a Ranking with full summaries and 10,000 open watches that have sent events since the last one.
func BenchmarkTop(b *testing.B) {
	inflight := new(observe.Inflight)
	c := NewClients(inflight)
	watches := make([]observe.Progress, 10_000)
	for i := range watches {
		e := event(fmt.Sprint("system:node:", i), "kubelet", 0)
		watches[i].Follow(e)
		watches[i].Answering()
		inflight.Began(e)
	}
	for b.Loop() {
		for i := range watches {
			watches[i].Sent(b.N)
			watches[i].Writes(time.Now())
			watches[i].Wrote(100)
		}
		if got := c.Top(Bytes, MaxWindow, 50); len(got.Clients) != 50 {
			b.Fatal(len(got.Clients))
		}
	}
}
