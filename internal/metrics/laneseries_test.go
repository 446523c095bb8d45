package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// scrape returns the lines of a scrape that contain a word.
func (m *Metrics) scrape(word string) (lines []string) {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

// countAll increments all counters with labels of a lane.
func (m *Metrics) countAll(gvr schema.GroupVersionResource) {
	m.Relisted(gvr.Group, gvr.Resource)
	m.Contradicted(gvr.Group, gvr.Resource)
	m.Reconnected(gvr.Group, gvr.Resource)
	m.LostWindow(gvr.Group, gvr.Resource, "replayed")
	m.BroughtForward(gvr.Group, gvr.Resource, "continued")
	m.SelfAudited(gvr, "json", "same", 1)
	m.SelfAuditPassed(gvr, "json")
	m.SelfAuditDiffered(gvr, "json", "missing")
	m.SelfAuditRelisted(gvr, "json")
}

// TestSeriesOfGoneLanesEnd: the counters of a lane that has ended remain for seriesKept and are then deleted. The same
// applies to counters of a lane that no scrape has seen.
func TestSeriesOfGoneLanesEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		pods := LaneStats{Version: "v1", Resource: "pods", Encoding: "json", Synced: true, Applied: 1}
		lanes := []LaneStats{pods, {Group: "ex.io", Version: "v1", Resource: "widgets", Encoding: "json", Synced: true, Applied: 1}}
		m := New(Sources{Lanes: func() []LaneStats { return lanes }, SelfAudit: time.Hour})
		for _, resource := range []string{"widgets", "gadgets"} {
			m.countAll(schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: resource})
		}
		m.countAll(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
		m.scrape("") // collectors run concurrently: a series that one creates may appear only in the next scrape
		before := len(m.scrape(`"pods"`))
		lanes = []LaneStats{pods}
		<-time.After(seriesKept / 2)
		if n := len(m.scrape(`"widgets"`)); n < 11 {
			t.Errorf("got %d series of a lane that has just ended, want its counters", n)
		}
		<-time.After(seriesKept)
		m.scrape("")
		for _, resource := range []string{`"widgets"`, `"gadgets"`} {
			if series := m.scrape(resource); len(series) > 0 {
				t.Errorf("got series of a lane that is gone, want none:\n%s", series)
			}
		}
		if n := len(m.scrape(`"pods"`)); n != before {
			t.Errorf("got %d series of a lane that runs, want %d", n, before)
		}
	})
}
