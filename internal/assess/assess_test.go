package assess

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/assess/auditlog"
	"github.com/listfacade/listfacade/internal/price"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }

// clusterMetrics are those of a cluster with 20,000 pods of 11 kB.
const clusterMetrics = `# HELP apiserver_resource_objects Number of stored objects
apiserver_resource_objects{group="",resource="pods"} 20000
apiserver_resource_size_estimate_bytes{group="",resource="pods"} 2.254e+08
apiserver_resource_objects{group="",resource="nodes"} 500
apiserver_resource_objects{group="",resource="secrets"} 10
apiserver_resource_objects{group="ex.io",resource="widgets"} -1
apiserver_storage_objects{resource="deployments.apps"} 1
apiserver_request_duration_seconds_bucket{verb="LIST",le="0.1"} 12
`

// file writes a file.
func file(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var defaults = Options{Files: []string{"-"}, Output: "json", Limit: 30, SampleFor: time.Minute}

// assessed returns the report about a log, by way of its JSON.
func assessed(t *testing.T, log string, o Options) *Report {
	t.Helper()
	var out, said bytes.Buffer
	if err := Run(t.Context(), o, nil, Streams{In: strings.NewReader(log), Out: &out, Err: &said}); err != nil {
		t.Fatal(err)
	}
	if said.Len() > 0 {
		t.Errorf("got progress on a stream that is not a terminal: %s", &said)
	}
	r := new(Report)
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// withMetrics are the defaults with sizes.
func withMetrics(t *testing.T) Options {
	o := defaults
	o.Metrics = file(t, clusterMetrics)
	return o
}

var (
	listAll = request{verb: "list", uri: "/api/v1/pods?resourceVersion=0", user: "system:serviceaccount:team-a:poller", agent: "poller/v1.2 (linux/amd64)", object: `"resource":"pods"`, lasts: 4 * time.Second}
	write   = request{verb: "patch", uri: "/api/v1/namespaces/team-a/pods/web", user: "amy", agent: "kubectl/v1.37.1 (linux/amd64)", object: `"resource":"pods","namespace":"team-a","name":"web"`, lasts: time.Millisecond}
)

// at returns a request that arrives later, with another user and program.
func (r request) from(user, agent string) request { r.user, r.agent = user, agent; return r }
func (r request) after(d time.Duration) request   { r.at += d; return r }
func (r request) failed(code int) request         { r.code = code; return r }

// rowOf returns the row of a user.
func rowOf(t *testing.T, r *Report, user string) Row {
	t.Helper()
	for _, row := range r.Clients {
		if row.User == user {
			return row
		}
	}
	t.Fatalf("got no row of %s in %+v", user, r.Clients)
	return Row{}
}

// Lists of all objects are priced by number and size, which the durations of this log confirm.
func TestListsArePricedByTheirObjects(t *testing.T) {
	log := logOf(listAll, listAll.after(10*time.Second), listAll.after(20*time.Second).failed(429),
		write.after(30*time.Second), listAll.after(40*time.Second).from("amy", "kubectl/v1.37.1 (linux/amd64)"))
	r := assessed(t, log, withMetrics(t))
	poller := rowOf(t, r, "system:serviceaccount:team-a:poller")
	if poller.Program != "poller" || poller.Requests != 3 || poller.Lists != 2 || poller.Served != 3 || poller.Move != Moves || len(poller.WhyNot) != 0 {
		t.Errorf("got %+v", poller)
	}
	one := price.List{Objects: 20_000, Bytes: 225.4e6, Encoding: price.JSON, Compressed: true}.CPU()
	if got, want := poller.CPU.Estimate, 2*one+price.Request; math.Abs(got-want) > 1e-6 {
		t.Errorf("got %v s, want %v s", got, want)
	}
	if poller.ListBytes < 6e8 || poller.ListBytes > 6.3e8 {
		t.Errorf("got %v bytes, want 2 times 307 MB", poller.ListBytes)
	}
	amy := rowOf(t, r, "amy")
	if amy.Program != "kubectl" || amy.Move != Reads || len(amy.WhyNot) != 1 || amy.WhyNot[0] != (Why{Reason: becauseWrite, Requests: 1, Refused: true}) {
		t.Errorf("got %+v", amy)
	}
	for _, row := range r.Clients {
		for name, b := range map[string]price.Bounds{"cpu": row.CPU, "saved": row.Saved, "facade": row.Facade, "events": row.Events} {
			if b.Low > b.Estimate || b.Estimate > b.High {
				t.Errorf("%s: got the range %+v of %s", row.User, b, name)
			}
		}
	}
	if r.Requests != 5 || r.Served != 4 || r.From != logStart.Add(4*time.Second) || r.To.Sub(r.From) != 40*time.Second {
		t.Errorf("got %+v", r)
	}
}

// Without sizes, and for lists whose selectors are not answered by a count, the duration is the estimate.
func TestOtherListsArePricedByTheirDuration(t *testing.T) {
	some := listAll
	some.uri, some.lasts = "/api/v1/pods?labelSelector=app%3Dweb", 100*time.Millisecond
	counted := defaults
	counted.Metrics = file(t, strings.Replace(clusterMetrics, "2.254e+08", "-1", 1))
	for name, o := range map[string]Options{"sizes": withMetrics(t), "no sizes": defaults, "only numbers": counted} {
		r := assessed(t, logOf(some, some.after(time.Minute)), o)
		cpu := r.Clients[0].CPU
		if cpu.Estimate < 0.1 || cpu.Estimate > 0.2 || cpu.High > 0.31 || cpu.Low > 0.01 {
			t.Errorf("%s: got %+v, want about 0.17 s", name, cpu)
		}
		if unsized := strings.Contains(strings.Join(r.Notes, " "), "does not report the size of 3 resources"); unsized != (name == "only numbers") {
			t.Errorf("%s: got the notes %q", name, r.Notes)
		}
		if r.Clients[0].Saved.Estimate >= cpu.Estimate {
			t.Errorf("%s: got %+v saved of %+v, but consistent lists need a check", name, r.Clients[0].Saved, cpu)
		}
	}
}

// A list of a node's pods costs at most twice the share of a node, even if the server was too busy to be fast.
func TestListsOfNodesArePricedByTheirShare(t *testing.T) {
	one := listAll
	one.uri, one.lasts = "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn", 3*time.Second
	cpu := assessed(t, logOf(one, one.after(time.Minute)), withMetrics(t)).Clients[0].CPU
	if share := (price.List{Objects: 40, Bytes: 40 * 11270, Encoding: price.JSON, Compressed: true}).CPU(); cpu.Estimate < share || cpu.Estimate > 4*share || cpu.High < 1 {
		t.Errorf("got %+v, want two lists of 40 to 80 pods, for %v s each", cpu, share)
	}
}

// The time for which watches were open is exact for each order of the lines, as long as their beginnings are in the
// log.
func TestWatchesAreOpenBetweenTheirEvents(t *testing.T) {
	watch := request{verb: "watch", uri: "/api/v1/pods?watch=true&resourceVersion=7", user: "informer", agent: "informer", object: `"resource":"pods"`}
	began := func(at time.Duration) request {
		r := watch
		r.stage, r.at = "ResponseStarted", at
		return r
	}
	ended := func(at, lasts time.Duration) request { r := watch; r.at, r.lasts = at, lasts; return r }
	tick := func(at time.Duration) request { return write.after(at - time.Millisecond) }
	for name, test := range map[string]struct {
		lines []request
		want  time.Duration
	}{
		"ended":             {[]request{tick(0), began(10 * time.Second), ended(10*time.Second, 30*time.Second), tick(100 * time.Second)}, 30 * time.Second},
		"still open":        {[]request{tick(0), began(10 * time.Second), tick(100 * time.Second)}, 90 * time.Second},
		"began before":      {[]request{tick(0), ended(-50*time.Second, 70*time.Second), tick(100 * time.Second)}, 20 * time.Second},
		"both":              {[]request{tick(0), began(10 * time.Second), began(20 * time.Second), ended(20*time.Second, 5*time.Second), tick(100 * time.Second)}, 95 * time.Second},
		"without beginning": {[]request{tick(0), ended(10*time.Second, 30*time.Second), tick(100 * time.Second)}, 30 * time.Second},
		"end first":         {[]request{tick(0), ended(10*time.Second, 30*time.Second), began(10 * time.Second), tick(100 * time.Second)}, 30 * time.Second},
	} {
		for range test.lines {
			test.lines = append(test.lines[1:], test.lines[0])
			for range 2 {
				slices.Reverse(test.lines)
				r := assessed(t, logOf(test.lines...), withMetrics(t))
				row := rowOf(t, r, "informer")
				if got := row.Watches * r.To.Sub(r.From).Seconds(); math.Abs(got-test.want.Seconds()) > 0.01 {
					t.Errorf("%s: got %v s of %+v, want %v", name, got, test.lines, test.want)
				}
			}
		}
	}
	log := logOf(append([]request{tick(0), began(0), tick(100 * time.Second)}, make10(tick)...)...)
	if row := rowOf(t, assessed(t, log, withMetrics(t)), "informer"); math.Abs(row.Events.Estimate-12) > 0.2 {
		t.Errorf("got %+v events, want one for each of 12 writes", row.Events)
	}
}

func make10(tick func(time.Duration) request) (all []request) {
	for i := range 10 {
		all = append(all, tick(time.Duration(i+1)*time.Second))
	}
	return all
}

// Each reason for which a facade does not serve a request.
func TestVerdicts(t *testing.T) {
	known, err := readScrape(strings.NewReader(clusterMetrics))
	if err != nil {
		t.Fatal(err)
	}
	certificate := shape{certificate: true}
	for name, test := range map[string]struct {
		use     use
		served  bool
		why     string
		refused bool
	}{
		"list":                      {use{verb: "list", resource: "pods"}, true, "", false},
		"watch by certificate":      {use{verb: "watch", resource: "pods", shape: certificate}, true, "", false},
		"write":                     {use{verb: "delete", resource: "pods"}, false, becauseWrite, true},
		"log":                       {use{verb: "get", resource: "pods", subresource: "log"}, false, becauseConnection, false},
		"log by certificate":        {use{verb: "get", resource: "pods", subresource: "log", shape: certificate}, false, becauseConnection, true},
		"secrets":                   {use{verb: "watch", resource: "secrets"}, false, becauseSecret, false},
		"secrets by certificate":    {use{verb: "get", resource: "secrets", shape: certificate}, false, becauseSecret, true},
		"secrets of another group":  {use{verb: "get", group: "apps", resource: "secrets"}, true, "", false},
		"leases":                    {use{verb: "get", group: "coordination.k8s.io", resource: "leases"}, false, becauseLease, false},
		"aggregated":                {use{verb: "list", group: "metrics.k8s.io", resource: "nodes"}, false, becauseAggregated, false},
		"stored, size unknown":      {use{verb: "list", group: "apps", resource: "replicasets"}, true, "", false},
		"impersonation":             {use{verb: "list", resource: "pods", shape: shape{impersonates: true}}, false, becauseImpersonate, true},
		"review":                    {use{verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews"}, false, becauseReview, false},
		"discovery":                 {use{verb: "get", resource: "/apis"}, true, "", false},
		"kube-apiserver itself":     {use{Client: Client{User: apiServerUser}, verb: "list", resource: "pods"}, false, becauseOwn, true},
		"health by anonymous":       {use{verb: "get", resource: "/readyz"}, false, becauseServer, false},
		"uses without their client": {use{verb: "list", resource: Others}, false, becauseFolded, false},
	} {
		if v := judge(&test.use, known.sizes); v.served != test.served || v.why != test.why || v.refused(&test.use) != test.refused {
			t.Errorf("%s: got %+v, refused %t", name, v, v.refused(&test.use))
		}
	}
	if !sizes(nil).aggregated("metrics.k8s.io", "pods") || sizes(nil).aggregated("ex.io", "widgets") {
		t.Error("without metrics, only well-known groups are aggregated")
	}
}

// The query says how much a request selects and how fresh it must be.
func TestQueryIsRead(t *testing.T) {
	for query, want := range map[string]shape{
		"":                   {initial: true},
		"?limit=500":         {initial: true, limit: 500},
		"?limit=x":           {initial: true},
		"?resourceVersion=0": {mode: fromCache, initial: true},
		"?resourceVersion=7": {mode: fromCache},
		"?resourceVersion=7&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": {mode: fromCache, initial: true},
		"?resourceVersion=7&resourceVersionMatch=Exact":                               {mode: exact},
		"?continue=abc&limit=5":                            {mode: exact, limit: 5},
		"?labelSelector=a%3Db":                             {initial: true, selects: selectsSome},
		"?labelSelector=":                                  {initial: true},
		"?fieldSelector=spec.nodeName%3Dnode-7":            {initial: true, selects: selectsNode},
		"?fieldSelector=spec.nodeName=node-7":              {initial: true, selects: selectsNode},
		"?fieldSelector=spec.nodeName%21%3D":               {initial: true, selects: selectsSome},
		"?fieldSelector=metadata.name%3Dx&labelSelector=a": {initial: true, selects: selectsName},
		"?fieldSelector=status.phase!=Running":             {initial: true, selects: selectsSome},
	} {
		var got shape
		got.read([]byte("/api/v1/pods" + query))
		if got != want {
			t.Errorf("%s: got %+v, want %+v", query, got, want)
		}
	}
}

// A log with too many kinds of requests keeps its costliest clients and all totals.
func TestTotalsAreExactWhenUsesAreDropped(t *testing.T) {
	var log strings.Builder
	const kinds = mostUses + 1000
	for i := range kinds {
		r := request{verb: "get", uri: "/api/v1/nodes/n", user: fmt.Sprintf("user-%d", i), agent: "a", object: `"resource":"nodes","name":"n"`, at: time.Duration(i) * time.Millisecond, lasts: time.Millisecond}
		if i%3000 == 0 {
			r = listAll.from("poller", "poller").after(r.at)
		}
		log.WriteString(r.line())
	}
	o := withMetrics(t)
	o.Limit = 5
	r := assessed(t, log.String(), o)
	if r.Requests != kinds || r.Clients[0].User != "poller" || r.Clients[0].Lists != 6 || len(r.Clients) != 6 {
		t.Fatalf("got %d requests, and first %+v", r.Requests, r.Clients[0])
	}
	sum, cpu := 0, 0.0
	for _, row := range r.Clients {
		sum, cpu = sum+row.Requests, cpu+row.CPU.Estimate
	}
	if sum != kinds || math.Abs(cpu-r.CPU.Estimate) > 1e-6 || !strings.Contains(strings.Join(r.Notes, " "), "too many kinds") {
		t.Errorf("got %d requests and %v s in rows, want %d and %v; notes %q", sum, cpu, kinds, r.CPU.Estimate, r.Notes)
	}
}

// Each error says what to do.
func TestBadInputIsAnError(t *testing.T) {
	valid := logOf(listAll)
	for name, test := range map[string]struct {
		log    string
		change func(*Options)
		want   string
	}{
		"nothing":         {"", nil, "wait until kube-apiserver has written some"},
		"only broken":     {"x\ny\n", nil, `no request ended in 2 lines, and some lines are not audit events ("-, line 1: malformed JSON: expected '{'"): give a log that kube-apiserver wrote with --audit-log-format=json`},
		"output":          {valid, func(o *Options) { o.Output = "yaml" }, "--output must be table or json"},
		"limit":           {valid, func(o *Options) { o.Limit = -1 }, "--limit must not be negative"},
		"sample":          {valid, func(o *Options) { o.SampleFor = time.Second }, "--sample-for must be at least 2s"},
		"no metrics":      {valid, func(o *Options) { o.Metrics = "/nowhere" }, "open metrics: open /nowhere: no such file"},
		"foreign metrics": {valid, func(o *Options) { o.Metrics = file(t, "up 1\n") }, "give the /metrics of a kube-apiserver"},
		"no file":         {valid, func(o *Options) { o.Files = []string{"/nowhere"} }, "no such file"},
	} {
		o := defaults
		if test.change != nil {
			test.change(&o)
		}
		err := Run(t.Context(), o, nil, Streams{In: strings.NewReader(test.log), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	var empty *EmptyLogError
	err := Run(t.Context(), defaults, nil, Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	if !errors.As(err, &empty) {
		t.Errorf("got %v, want an EmptyLogError", err)
	}
}

// The command reads the standard input, and refuses two sources of sizes.
func TestCommandReadsStandardInput(t *testing.T) {
	kubeconfig := testkit.WriteInsecureKubeconfig(t, "https://127.0.0.1:1")
	for want, args := range map[string][]string{
		"": {"--metrics", file(t, clusterMetrics), "-o", "json", "-"}, errTwoSizes.Error(): {"--metrics", file(t, clusterMetrics), "--kubeconfig", kubeconfig, "-"},
		"connection refused": {"--kubeconfig", kubeconfig, "-"},
	} {
		command, out := Command(), new(bytes.Buffer)
		command.SetArgs(args)
		command.SetIn(strings.NewReader(logOf(listAll)))
		command.SetOut(out)
		err := command.ExecuteContext(t.Context())
		if want == "" && (err != nil || !strings.Contains(out.String(), `"user": "system:serviceaccount:team-a:poller"`)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v and %s, want %q", args, err, out, want)
		}
	}
}

// A broken line is reported and costs nothing else. The table shows texts of clients without control characters.
func TestTableIsReadable(t *testing.T) {
	o := withMetrics(t)
	o.Output = "table"
	hostile := listAll.from(`eve\u001b[2J`, "curl/8")
	log := logOf(listAll, listAll.after(10*time.Minute)) + "{\n" + logOf(hostile, write.after(time.Minute))
	var out bytes.Buffer
	if err := Run(t.Context(), o, nil, Streams{In: strings.NewReader(log), Out: &out, Err: new(bytes.Buffer)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2026-11-20T12:00:04Z to 2026-11-20T12:10:04Z (10m0s): 4 requests of 3 clients.\n", `1 of 5 lines are not audit events and were left out. The first one: "-, line 3:`,
		"A facade would answer 75.0% of the requests.", "CPU of kube-apiserver", "USER                                  PROGRAM   REQUESTS", "poller", "eve?[2J", "writes: 1 refused",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no %q in\n%s", want, &out)
		}
	}
}

func TestBarShowsTheRest(t *testing.T) {
	for want, got := range map[string]string{
		"[===============               ]  50%  500 MB, 50 MB/s, 10s left": bar(500e6, 1000e6, 10*time.Second),
		"[==============================] 100%  2 B, 2 B/s, 0s left":       bar(2, 1, time.Second), // the file grew
		"12 kB, 12 kB/s": bar(12e3, 0, time.Second), "0 B": bar(0, 5, 0),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A tally of a generated log has each event once, for any number of blocks.
func TestGeneratedLogIsCounted(t *testing.T) {
	var log bytes.Buffer
	if err := generate(&log, settings.Random(t), 3<<20); err != nil {
		t.Fatal(err)
	}
	want := bytes.Count(log.Bytes(), []byte{'\n'})
	r := assessed(t, log.String(), withMetrics(t))
	if r.Requests != want || r.Log.Lines != want || r.Log.Broken != 0 {
		t.Errorf("got %d requests and %+v, want %d", r.Requests, r.Log, want)
	}
	nodes := rowOf(t, r, "system:node:*")
	if nodes.Program != "kubelet" || nodes.Move != Stays {
		t.Errorf("got %+v", nodes)
	}
}

// BenchmarkLog reads a generated log of LISTFACADE_AUDIT_MIB (64) MiB, and reports the peak of the process's memory:
//
//	LISTFACADE_AUDIT_MIB=1024 go test -run '^$' -bench Log -benchtime 1x ./internal/assess
func BenchmarkLog(b *testing.B) {
	size := int64(settings.Number(b, "LISTFACADE_AUDIT_MIB", 64)) << 20
	path := filepath.Join(b.TempDir(), "audit.log")
	out, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := generate(out, settings.Random(b), size); err != nil {
		b.Fatal(err)
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		files, err := auditlog.Find([]string{path}, nil)
		if err != nil {
			b.Fatal(err)
		}
		sum := newTally()
		if _, err := files.Each(b.Context(), sum.add); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(peak(b), "peak-MB")
}

// peak returns the peak of the resident memory of this process, in MB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc: ", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kB float64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		b.Fatal(err)
	}
	return kB / 1000
}
