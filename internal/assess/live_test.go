package assess

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// scraped are the metrics of a kube-apiserver after some lists.
func scraped(lists, events int) string {
	return clusterMetrics + fmt.Sprintf(`apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="cluster",subresource="",verb="LIST",version="v1"} %d
apiserver_request_duration_seconds_sum{component="apiserver",dry_run="",group="",resource="pods",scope="cluster",subresource="",verb="LIST",version="v1"} %d
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} %d
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"} 3
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"} 8
apiserver_watch_events_total{group="",resource="pods",version="v1"} %d
`, lists, 4*lists, lists, events)
}

// dump is a table of kube-apiserver 1.37. The third request waits for a seat, and the last name has a comma.
const dump = `PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime,                     InitialSeats, FinalSeats, AdditionalLatency, StartTime,                      UserName,                       Verb,   APIPath,      Namespace,   Name,   APIVersion,   Resource,   SubResource
workload-low,      service-accounts, 5,        -1,                  sa,             2026-11-20T12:00:00.000000001Z, 3,            0,          0s,                2026-11-20T12:00:00.000000002Z, system:serviceaccount:a:poller, list,   /api/v1/pods, ,            ,       v1,           pods,       
workload-low,      service-accounts, 5,        -1,                  sa,             2026-11-20T12:00:00.000000001Z, 1,            0,          0s,                2026-11-20T12:00:00.000000002Z, system:node:node-7,             list,   /api/v1/pods, ,            ,       v1,           pods,       
workload-low,      service-accounts, 5,        0,                   sa,             2026-11-20T12:00:00.000000001Z, 9,            0,          0s,                0001-01-01T00:00:00Z,           waits,                          list,   /api/v1/pods, ,            ,       v1,           pods,       
workload-low,      service-accounts, 5,        -1,                  sa,             2026-11-20T12:00:00.000000001Z, 9,            0,          0s,                2026-11-20T12:00:00.000000002Z, a,b,                            list,   /api/v1/pods, ,            ,       v1,           pods,       
`

// fakeLive is a kube-apiserver that answers a dump of requests with a status code.
func fakeLive(t *testing.T, code int) *Live {
	t.Helper()
	var scrapes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == metricsPath:
			n := int(scrapes.Add(1))
			_, _ = w.Write([]byte(scraped(100*n, 7000*n)))
		case r.URL.Path == dumpPath && r.URL.Query().Get("includeRequestDetails") == "1":
			w.WriteHeader(code)
			_, _ = w.Write([]byte(dump))
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	l, err := NewLive(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.every = time.Millisecond
	return l
}

func liveReport(t *testing.T, l *Live) (*Report, error) {
	t.Helper()
	o := defaults
	o.Files = nil
	var out, said bytes.Buffer
	if err := Run(t.Context(), o, l, Streams{Out: &out, Err: &said}); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(said.String(), "Sampling 127.0.0.1:") {
		t.Errorf("got %q, want the name of the server", &said)
	}
	r := new(Report)
	return r, json.Unmarshal(out.Bytes(), r)
}

// The requests between two scrapes are those of the callers that were found in flight, by their seats.
func TestRequestsAreSharedByTheirSeats(t *testing.T) {
	r, err := liveReport(t, fakeLive(t, http.StatusOK))
	if err != nil {
		t.Fatal(err)
	}
	poller, nodes, unknown := rowOf(t, r, "system:serviceaccount:a:poller"), rowOf(t, r, "system:node:*"), rowOf(t, r, unknownUser)
	if poller.Lists != 75 || nodes.Lists != 25 || poller.Move != Moves || math.Abs(poller.CPU.Estimate-3*nodes.CPU.Estimate) > 0.1 {
		t.Errorf("got %+v and %+v, want three quarters and a quarter of 100 lists", poller, nodes)
	}
	if unknown.Requests != 100 || math.Abs(unknown.Watches-8) > 1e-6 || unknown.Events.Estimate != 7000 || unknown.Move != Reads {
		t.Errorf("got %+v, want 100 writes, 8 watches and 7000 events", unknown)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "240 seats") || !strings.Contains(notes, "60 dumps") {
		t.Errorf("got %s", notes)
	}
}

// If kube-apiserver restarted between two scrapes, its counters began at zero again.
func TestCountersBeginAgainAfterRestart(t *testing.T) {
	scrape := func(lists, events int) *scrape {
		s, err := readScrape(strings.NewReader(scraped(lists, events)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	d := &difference{before: scrape(100, 7000), after: scrape(40, 3000), seen: newSeats(), length: time.Minute}
	found := map[string]*use{}
	for _, u := range d.uses() {
		found[u.verb] = u
	}
	if lists, watches := found[listVerb], found[watchVerb]; lists.requests != 40 || watches.sent != 3000 {
		t.Errorf("got %d lists and %v events, want 40 and 3000", lists.requests, watches.sent)
	}
}

// A kube-apiserver without flow control has no callers, and one that refuses says which right is missing.
func TestMissingDumpIsReported(t *testing.T) {
	r, err := liveReport(t, fakeLive(t, http.StatusNotFound))
	if err != nil || rowOf(t, r, unknownUser).Lists != 100 || !strings.Contains(strings.Join(r.Notes, "\n"), "has no API Priority and Fairness") {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = liveReport(t, fakeLive(t, http.StatusForbidden))
	if err == nil || !strings.Contains(err.Error(), "403 Forbidden: the user needs the verb get on the nonResourceURLs /metrics and") {
		t.Errorf("got %v", err)
	}
}

// The parsers of metrics and dumps accept any text.
func FuzzLive(f *testing.F) {
	f.Add(scraped(1, 2))
	f.Add(dump)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = readScrape(strings.NewReader(text))
		_ = newSeats().add(strings.NewReader(text))
		new(shape).read([]byte(text))
	})
}
