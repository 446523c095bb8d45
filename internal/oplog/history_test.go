package oplog

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A report appears in the step of its time, and disappears after 15 minutes.
func TestHistory(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := NewHistory()
		for range 99 {
			h.Done(&observe.Event{Source: observe.FromCache, Code: 200, Resource: "pods", Took: 10 * time.Millisecond})
		}
		h.Done(&observe.Event{Source: observe.FromUpstream, Code: 503, Resource: "pods", Took: 2 * time.Second})
		h.Done(&observe.Event{Source: observe.FromFacade, Code: 429, Resource: "pods", Took: time.Hour})
		// The fault of the client, a request that is not counted, and a watch.
		h.Done(&observe.Event{Source: observe.FromFacade, Code: 501, Resource: "secrets", Took: time.Hour})
		h.Done(&observe.Event{Source: observe.FromFacade, Code: 200, Took: time.Hour})
		h.Done(&observe.Event{Source: observe.FromCache, Code: 200, Resource: "pods", LongRunning: true, Took: 1 << 60})
		h.Asked("probe", 200, time.Millisecond)
		h.Asked("probe", 0, time.Second)
		h.Asked("watch", 429, time.Minute)
		h.Asked("something else", 0, 0)
		h.AuditLost(7)
		moments := h.Moments()
		if len(moments) != HistorySteps {
			t.Fatalf("got %d moments", len(moments))
		}
		m := moments[len(moments)-1]
		if m.Cache != 100 || m.Upstream != 1 || m.Facade != 2 || m.Failed != 1 || m.Refused != 1 || m.Asked != 3 || m.Unanswered != 1 || m.Throttled != 1 || m.AuditLost != 7 {
			t.Errorf("got %+v", m)
		}
		if m.P50Seconds < 0.008 || m.P50Seconds > 0.012 || m.P99Seconds > 0.012 || m.AskedP99Seconds < 0.0008 || m.AskedP99Seconds > 0.0012 {
			t.Errorf("got %+v", m)
		}
		if f := h.LastFailure(); f == nil || f.Request != "watch" || f.Code != 429 {
			t.Errorf("got %+v", f)
		}
		for _, q := range h.Questions(5 * time.Minute) {
			if q.Request == "probe" && (q.Count != 2 || q.Unanswered != 1 || q.MeanSeconds != 0.001 || q.LongestSeconds != 0.001) {
				t.Errorf("got %+v", q)
			}
		}
		<-time.After(5*time.Minute + HistoryStep) // of the bubble
		for _, q := range h.Questions(5 * time.Minute) {
			if q.Count != 0 {
				t.Errorf("after five minutes: %+v", q)
			}
		}
		if last := h.Moments()[HistorySteps-1]; last.Cache != 0 {
			t.Errorf("got %+v", last)
		}
		<-time.After(HistorySteps * HistoryStep) // of the bubble
		for _, m := range h.Moments() {
			if m.Cache != 0 || m.Asked != 0 {
				t.Errorf("after a quarter of an hour: %+v", m)
			}
		}
	})
}

// Relists of the last 30 minutes are counted, up to 16.
func TestHistoryRelists(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := NewHistory()
		for range 100 {
			h.Relisted("apps", "deployments")
		}
		if times, last := h.Relists("apps", "deployments"); times != keptRelists || !last.Equal(time.Now()) {
			t.Errorf("got %d, %s", times, last)
		}
		if times, last := h.Relists("", "pods"); times != 0 || !last.IsZero() {
			t.Errorf("got %d, %s", times, last)
		}
		<-time.After(relistsWithin) // of the bubble
		if times, _ := h.Relists("apps", "deployments"); times != 0 {
			t.Errorf("%d after half an hour", times)
		}
	})
}

// A quantile is within a fifth of the true value.
func TestSpreadIsAccurate(t *testing.T) {
	for _, d := range []time.Duration{150 * time.Microsecond, time.Millisecond, 37 * time.Millisecond, time.Second, 59 * time.Second} {
		var s spread
		s.add(d)
		if got := s.quantile(0.5); float64(got) < 0.8*float64(d) || float64(got) > 1.25*float64(d) {
			t.Errorf("%s is shown as %s", d, got)
		}
	}
	var s spread
	s.add(0)
	s.add(time.Hour)
	if s.quantile(0.5) > shortest || s.quantile(1) < time.Minute {
		t.Errorf("got %s, %s", s.quantile(0.5), s.quantile(1))
	}
}

// BenchmarkHistory measures the cost of recording a request.
func BenchmarkHistory(b *testing.B) {
	h, e := NewHistory(), &observe.Event{Source: observe.FromCache, Code: 200, Resource: "pods", Took: 10 * time.Millisecond}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Done(e)
		}
	})
}
