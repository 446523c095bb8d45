package handlers

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Requests in flight are counted while they are open, and events of a watch when they are sent.
func TestMetricsCountRequestsInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.Put("ns/b", "1")
		f.get(t, reads[0])
		<-time.After(2 * time.Second) // the peak before has passed
		frames := f.follow(t, "/api/v1/namespaces/ns/configmaps?watch=1&timeoutSeconds=60&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"+
			"resourceVersion=0&allowWatchBookmarks=true")
		for range 3 {
			<-frames
		}
		f.Put("ns/a", "2")
		<-frames
		synctest.Wait()
		open := `apiserver_longrunning_requests{component="listfacade",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} `
		counts(t, f, open+"1", `apiserver_watch_events_total{group="",resource="configmaps",version="v1"} 4`,
			`apiserver_watch_events_sizes_count{group="",resource="configmaps",version="v1"} 4`,
			`apiserver_watch_list_duration_seconds_count{group="",resource="configmaps",scope="namespace",version="v1"} 1`,
			`apiserver_current_inflight_requests{request_kind="readOnly"} 1`) // this request
		for range frames {
		}
		synctest.Wait()
		counts(t, f, open+"0")
	})
}

// counts fails unless the metrics have these lines.
func counts(t *testing.T, f *facade, lines ...string) {
	t.Helper()
	_, text := f.get(t, "/metrics")
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			t.Errorf("want %s, got\n%s", line, linesOf(text, name))
		}
	}
}

// linesOf returns the lines of a text with a prefix.
func linesOf(text, beginning string) string {
	var found strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, beginning) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// Subresources are reported by name if discovery has them.
func TestDiscoveredSubresources(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		for _, target := range []string{"/api/v1/namespaces/ns/configmaps/a/madeup", "/api/v1/namespaces/ns/madeups/a/status"} {
			f.get(t, target)
			if f.events.last().Discovered {
				t.Errorf("%s: got a known subresource", target)
			}
		}
		if _, _, err := f.try(t, http.MethodHead, reads[0]); err != nil || !f.events.last().Discovered {
			t.Errorf("%s: got an unknown resource for HEAD: %v", reads[0], err)
		}
	})
}
