package page

import (
	"math"
	"time"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// noon is the time of the tests' pages.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// hostile is a text that a client may send.
const hostile = `<script>alert("x")</script><img src=x onerror=alert(1)>' " --> javascript:alert(1)`

// wellStatus returns the Status of a healthy facade.
func wellStatus() *Status {
	s := &Status{
		At:      noon,
		Process: Process{Name: "listfacade-7d9c5b6f4-x2kqp", Version: "v0.9.0", Started: noon.Add(-78 * time.Hour)},
		Bounds:  Bounds{MaxStaleness: time.Minute, SlowWatchLag: 5 * time.Second, SlowRequest: 500 * time.Millisecond, SelfAudit: 6 * time.Hour},
		Lanes: []Lane{
			{Version: "v1", Resource: "pods", Encoding: "json", State: Synced, Objects: 150_000, Bytes: 1_310_000_000, Memory: 171_000_000, ResourceVersion: 88_112_034, LastEventSeconds: 0.02, Watches: 5_120, AgeSeconds: 9e4},
			{Version: "v1", Resource: "pods", Encoding: "protobuf", State: Synced, Objects: 150_000, Bytes: 690_000_000, Memory: 123_000_000, ResourceVersion: 88_112_034, LastEventSeconds: 0.02, Watches: 10_031, LagEvents: 12, AgeSeconds: 9e4},
			{Version: "v1", Resource: "nodes", Encoding: "protobuf", State: Synced, Objects: 5_000, Bytes: 61_000_000, Memory: 14_200_000, ResourceVersion: 88_112_010, LastEventSeconds: 0.4, Watches: 42, AgeSeconds: 9e4},
			{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices", Encoding: "protobuf", State: Synced, Objects: 11_870, Bytes: 98_000_000, Memory: 21_000_000, ResourceVersion: 88_111_871, LastEventSeconds: 1.7, Watches: 5_003, AgeSeconds: 9e4},
			{Version: "v1", Resource: "configmaps", Encoding: "json", State: Synced, Objects: 8_124, Bytes: 41_700_000, Memory: 9_900_000, ResourceVersion: 88_107_441, LastEventSeconds: 95, Watches: 212, Relists: 1, LastRelist: noon.Add(-20 * time.Minute), AgeSeconds: 9e4},
		},
		Clients: accounting.Ranking{By: "bytes", Unit: "bytes", Total: 9_120_000_000, Keys: 211, Clients: []accounting.Client{
			{Key: accounting.Key{User: "system:serviceaccount:team-a:poller", UserAgent: "python-requests/2.32", Verb: "list", Resource: "pods", Scope: "cluster", Mode: "MostRecent", Source: "cache"}, Estimate: 6_412_000_000},
			{Key: accounting.Key{User: "system:kube-scheduler", UserAgent: "kube-scheduler/v1.37.1 (linux/amd64) kubernetes/0b1a2c3/scheduler", Verb: "watch", Resource: "pods", Scope: "cluster", Selector: "field status.phase !=", Mode: "Any", Source: "cache"}, Estimate: 1_120_000_000, Error: 20_000_000},
			{Key: accounting.Key{User: "system:serviceaccount:monitoring:prometheus", UserAgent: hostile, Verb: "watch", Group: "discovery.k8s.io", Resource: "endpointslices", Scope: "cluster", Mode: "NotOlderThan", Source: "cache"}, Estimate: 310_000_000},
			{Key: accounting.Key{User: "alice", UserAgent: "kubectl/v1.37.1 (linux/amd64) kubernetes/0b1a2c3", Verb: "list", Resource: "secrets", Scope: "namespace", Source: "upstream"}, Estimate: 2_100_000},
		}},
		Watches: observe.OpenList{Total: 20_408, Items: []observe.Open{
			watch("system:serviceaccount:team-a:slow", "my-controller/v0.3.1", "pods", "team-a", 3.2, 118), watch("system:node:node-17", "kubelet/v1.37.1 (linux/amd64)", "pods", "", 0, 0),
			watch("system:kube-proxy", "kube-proxy/v1.37.1 (linux/amd64)", "endpointslices", "", 0, 0),
		}},
		Requests: observe.OpenList{Total: 2, Items: []observe.Open{
			{AgeSeconds: 0.8, User: "system:serviceaccount:team-a:poller", UserAgent: "python-requests/2.32", Verb: "list", Resource: "pods", State: "writing", StateSeconds: 0.2, WaitsFor: "client", Bytes: 96_000_000, Client: "10.0.3.7:51122", Source: "cache"},
			{AgeSeconds: 0.01, User: "alice", UserAgent: "kubectl/v1.37.1", Verb: "get", Resource: "secrets", Namespace: "team-a", Name: "db", State: "asking", StateSeconds: 0.01, WaitsFor: "upstream", Client: "10.0.3.9:40100", Source: "upstream"},
		}},
		Slow: oplog.SlowList{Total: 19, Items: []oplog.Slow{
			{At: noon.Add(-42 * time.Second), What: "Slow request", TookSeconds: 2.81, Verb: "list", URI: "/api/v1/pods?labelSelector=app%3Dweb", Code: 200, Source: "cache", Scanned: 150_000, Sent: 12, Bytes: 60_211, User: "system:serviceaccount:team-a:poller", UserAgent: "python-requests/2.32", AuditID: "7c1b8e52-5a9e-4c0e-9c1e-3f0c1e3a7d11", Steps: map[string]float64{"checking": 1.9, "encoding": 0.7}, Longest: "checking"},
			{At: noon.Add(-9 * time.Minute), What: "Slow watch", TookSeconds: 6, Verb: "watch", URI: "/api/v1/namespaces/team-a/pods?watch=true", Code: 200, Source: "cache", User: "system:serviceaccount:team-a:slow", UserAgent: hostile, AuditID: "0b8fd7a4-0d4f-46cf-8f68-7f0a6d8a2c55"},
		}},
		Memory: Memory{Budget: 2 << 30, Used: 1_180_000_000, Mapped: 1_420_000_000, Kinds: []Kind{
			{"answers", 31_000_000}, {"forms", 140_000_000}, {"history", 210_000_000}, {"lanes", 339_000_000}, {"unpacked", 9_000_000}, {"watches", 402_000_000},
		}},
		Limits: []Limit{
			{Name: "requests in flight", Unit: "requests", Taken: 2, All: 400, Flag: "--max-requests-inflight"}, {Name: "lists in flight", Unit: "MiB", Taken: 1_250, All: 65_536, Flag: "--max-list-bytes-inflight"},
			{Name: "open watches", Unit: "watches", Taken: 20_408, All: 50_000, Flag: "--max-watches"}, {Name: "forwarded lists", Unit: "MiB", All: 1536}, {Name: "requests waiting for lanes", Unit: "requests"},
		},
		Upstream: Upstream{Endpoint: "10.96.0.1:443", Questions: []oplog.Question{
			{Request: "document", Count: 5, MeanSeconds: 0.004, LongestSeconds: 0.011}, {Request: "passthrough", Count: 612, MeanSeconds: 0.012, LongestSeconds: 0.3}, {Request: "probe", Count: 1_493, MeanSeconds: 0.002, LongestSeconds: 0.02},
			{Request: "read", Count: 1, MeanSeconds: 0.09, LongestSeconds: 0.09}, {Request: "review", Count: 902, MeanSeconds: 0.003, LongestSeconds: 0.04}, {Request: "watch", Count: 3, MeanSeconds: 0.005, LongestSeconds: 0.009},
		}},
		Saved:        metrics.Saved{Lists: 4_100_000, Events: 212_000_000, Bytes: 9_200_000_000_000, CPU: 411_000, Caused: 12_000},
		Certificates: []Certificate{{Name: "serving", NotAfter: noon.Add(71 * 24 * time.Hour)}},
		Health:       []Check{{Name: "ping"}, {Name: "discovery"}, {Name: "preload"}, {Name: "shutdown"}},
		History:      wellHistory(),
	}
	s.Behind = s.Watches.Items
	return s
}

func watch(user, agent, resource, namespace string, lag float64, behind int64) observe.Open {
	o := observe.Open{
		AgeSeconds: 1260, User: user, UserAgent: agent, Verb: "watch", Resource: resource, Namespace: namespace, State: "idle", StateSeconds: 0.3, WaitsFor: "events", Bytes: 4_120_000,
		Client: "10.0.7.11:40112", Source: "cache", OpenWatch: &observe.OpenWatch{Events: 3120, At: 88_111_020, LagEvents: behind, LagSeconds: lag},
	}
	if lag > 0 {
		o.State, o.WaitsFor, o.StateSeconds = "writing", "client", lag
	}
	return o
}

func wellHistory() []oplog.Moment {
	var all []oplog.Moment
	for i := range oplog.HistorySteps {
		wave := math.Sin(float64(i) / 9)
		all = append(all, oplog.Moment{
			At: noon.Add(time.Duration(i-oplog.HistorySteps+1) * oplog.HistoryStep), Cache: 3400 + int(700*wave), Upstream: 60 + i%7, Facade: i % 3,
			P50Seconds: 0.004 + 0.001*wave, P99Seconds: 0.11 + 0.06*math.Cos(float64(i)/5), Asked: 100 + i%11, AskedP99Seconds: 0.009 + 0.003*wave,
		})
	}
	return all
}

// illStatus returns the Status of a facade whose upstream is unreachable, with other problems.
func illStatus() *Status {
	s := wellStatus()
	s.Upstream.SilentSeconds, s.Upstream.LastError, s.Upstream.LastErrorAt = 73, `Get "https://10.96.0.1:443/api/v1/pods?watch=1": dial tcp 10.96.0.1:443: connect: connection refused`, noon.Add(-2*time.Second)
	s.Upstream.LastFailure = &oplog.UpstreamFailure{At: noon.Add(-2 * time.Second), Request: "watch"}
	for i := range s.Lanes {
		s.Lanes[i].State, s.Lanes[i].StaleSeconds, s.Lanes[i].Why = Stale, 73, "reach the upstream: connection refused"
	}
	s.Lanes = append(s.Lanes, Lane{Group: "apps", Version: "v1", Resource: "deployments", Encoding: "json", State: Syncing, Filled: 4_000, Expected: 12_000, LeftSeconds: 4, LastEventSeconds: -1, AgeSeconds: 74})
	s.Certificates[0].NotAfter = noon.Add(31 * time.Hour)
	s.Watches.Items[0].LagSeconds = 14
	for i := range 7 {
		m := &s.History[len(s.History)-1-i]
		m.Failed, m.Upstream, m.Unanswered, m.Asked, m.AskedP99Seconds, m.Cache = 300, 0, 40, 40, 0, 1200
	}
	return s
}
