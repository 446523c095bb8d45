package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// counted records the counts of a Log.
type counted struct {
	mu               sync.Mutex
	levels, errors   map[string]int
	events, rejected int
}

func newCounted() *counted { return &counted{levels: map[string]int{}, errors: map[string]int{}} }

func (c *counted) AuditLevel(level string) { c.mu.Lock(); c.levels[level]++; c.mu.Unlock() }
func (c *counted) AuditEvent()             { c.mu.Lock(); c.events++; c.mu.Unlock() }
func (c *counted) AuditErrors(plugin string, events int) {
	c.mu.Lock()
	c.errors[plugin] += events
	c.mu.Unlock()
}
func (c *counted) AuditRejected() { c.mu.Lock(); c.rejected++; c.mu.Unlock() }

const everything = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"

// logOf returns a Log with a policy in a temporary directory.
func logOf(t testing.TB, policy string, change func(*Config)) (*Log, *counted) {
	t.Helper()
	c := DefaultConfig()
	c.PolicyFile, c.Path = filepath.Join(t.TempDir(), "policy.yaml"), filepath.Join(t.TempDir(), "new/audit.log")
	if err := os.WriteFile(c.PolicyFile, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	change(&c)
	counts := newCounted()
	l, err := New(c, counts, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return l, counts
}

// finish makes a Log write all queued lines and end.
func (l *Log) finish() {
	ended, end := context.WithCancel(context.Background())
	end()
	l.Run(ended)
}

// written returns the written lines of a Log.
func written(t *testing.T, l *Log) []string {
	t.Helper()
	text, err := os.ReadFile(l.config.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func eventOf(verb, resource string) *observe.Event {
	return &observe.Event{
		Verb: verb, Resource: resource, Version: "v1", Scope: "cluster", Caller: &user.DefaultInfo{Name: "alice"}, Client: "10.0.0.1:1", Code: 200,
		LongRunning: verb == "watch", Header: http.Header{},
	}
}

// goThrough passes all stages of a request to a Log.
func goThrough(l *Log, e *observe.Event) {
	if e.Caller != nil {
		_ = l.Received(e)
	}
	if e.LongRunning {
		l.Answering(e)
	}
	l.Done(e)
}

// The first matching rule decides: omitted stages are not written, and the level is at most Request.
func TestPolicySelectsStages(t *testing.T) {
	const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [bob]}
- {level: Metadata, verbs: [watch], omitStages: [ResponseComplete]}
- {level: RequestResponse, resources: [{group: "", resources: [secrets]}]}
- {level: Metadata, nonResourceURLs: [/metrics]}
- {level: Request, verbs: [list], omitStages: []}
- {level: Metadata, userGroups: [none]}
`
	for name, test := range map[string]struct {
		event *observe.Event
		want  string
	}{
		"a watch":      {eventOf("watch", "pods"), "Metadata ResponseStarted"},
		"a list":       {eventOf("list", "pods"), "Request ResponseComplete"},
		"a get":        {eventOf("get", "pods"), ""},
		"a get, above": {eventOf("get", "secrets"), "Request ResponseComplete"},
		"a user": {func() *observe.Event {
			e := eventOf("list", "pods")
			e.Caller = &user.DefaultInfo{Name: "bob"}
			return e
		}(), ""},
		"a path":  {&observe.Event{Verb: "get", Path: "/metrics", Caller: &user.DefaultInfo{}, Code: 200}, "Metadata ResponseComplete"},
		"a panic": {func() *observe.Event { e := eventOf("list", "pods"); e.Panicked = "x"; return e }(), "Request Panic"},
		"panic before authentication": {func() *observe.Event {
			e := eventOf("list", "pods")
			e.Caller, e.Panicked = nil, "x"
			return e
		}(), "Request Panic"},
		"unauthenticated": {func() *observe.Event { e := eventOf("watch", "pods"); e.Caller, e.Code = nil, 401; return e }(), "Metadata ResponseStarted"},
	} {
		l, counts := logOf(t, policy, func(*Config) {})
		goThrough(l, test.event)
		l.finish()
		var got []string
		for _, line := range written(t, l) {
			_, level, _ := strings.Cut(line, `"level":"`)
			_, stage, _ := strings.Cut(line, `"stage":"`)
			got = append(got, strings.SplitN(level, `"`, 2)[0]+" "+strings.SplitN(stage, `"`, 2)[0])
		}
		if strings.Join(got, ", ") != test.want || counts.events != len(got) {
			t.Errorf("%s: got %q, %d events", name, got, counts.events)
		}
	}
}

// A request with all stages has one line for each, in order.
func TestEachStageHasALine(t *testing.T) {
	l, counts := logOf(t, everything, func(*Config) {})
	goThrough(l, eventOf("watch", "pods"))
	l.finish()
	lines := written(t, l)
	for i, stage := range []string{"RequestReceived", "ResponseStarted", "ResponseComplete"} {
		if len(lines) != 3 || !strings.Contains(lines[i], `"stage":"`+stage+`"`) {
			t.Fatalf("got %q", lines)
		}
	}
	if counts.levels["Metadata"] != 1 || counts.events != 3 || len(counts.errors) != 0 {
		t.Errorf("got %+v", counts)
	}
	if info, err := os.Stat(l.config.Path); err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

// broken is an output on a full disk.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
func (broken) Close() error              { return nil }

// On a full disk, requests continue and lost events are counted. In mode blocking-strict, requests are rejected.
func TestFullDisk(t *testing.T) {
	for mode, test := range map[string]struct {
		refused          bool
		events, rejected int
	}{Batch: {false, 2, 0}, Blocking: {false, 2, 0}, BlockingStrict: {true, 1, 1}} {
		l, counts := logOf(t, everything, func(c *Config) { c.Mode = mode })
		_ = l.out.Close()
		l.out = broken{}
		e := eventOf("list", "pods")
		if err := l.Received(e); (err != nil) != test.refused {
			t.Errorf("%s: got %v", mode, err)
		}
		l.Done(e)
		l.finish()
		if counts.errors[plugin] != test.events || counts.rejected != test.rejected {
			t.Errorf("%s: got %+v", mode, counts)
		}
	}
}

// In batch mode no request waits: events above the limits are dropped, counted and logged, and all others are written.
func TestEventsAboveLimitAreDropped(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	l, counts := logOf(t, everything, func(*Config) {})
	l.log = oplog.Few(zap.New(core))
	e := eventOf("list", "pods")
	l.evaluate(e)
	for range mostWaiting + 100 {
		l.Done(e)
	}
	if counts.errors[buffered] != 100 {
		t.Errorf("got %+v", counts)
	}
	if n := logged.FilterMessageSnippet("Dropped").Len(); n == 0 || n > 10 {
		t.Errorf("got %d lines, want 1 to 10", n)
	}
	l.finish()
	if lines := written(t, l); len(lines) != mostWaiting || l.queued.Load() != 0 {
		t.Errorf("got %d lines, and %d bytes in the queue", len(lines), l.queued.Load())
	}
	l, counts = logOf(t, everything, func(*Config) {})
	e.Status = &metav1.Status{Message: strings.Repeat("x", 1<<20)}
	for range 40 {
		l.Done(e)
	}
	if dropped := counts.errors[buffered]; dropped < 8 || l.queued.Load() > mostBytes {
		t.Errorf("got %d dropped events, and %d bytes in the queue", dropped, l.queued.Load())
	}
	l.finish()
}

// Events of unauthenticated callers fill at most a quarter of the queue.
func TestUnauthenticatedCallersUseAQuarterOfTheQueue(t *testing.T) {
	l, counts := logOf(t, everything, func(*Config) {})
	for range mostWaiting {
		e := eventOf("list", "pods")
		e.Caller, e.Code = nil, 401
		l.Done(e)
	}
	if waiting := mostWaiting - counts.errors[buffered]; waiting != mostWaiting/unknownShare {
		t.Errorf("got %d events of unauthenticated callers in the queue, want %d", waiting, mostWaiting/unknownShare)
	}
	before := counts.errors[buffered]
	for range mostWaiting / 5 {
		goThrough(l, eventOf("watch", "pods"))
	}
	if counts.errors[buffered] != before {
		t.Errorf("got %+v", counts)
	}
	l.finish()
}

// Events after the end of the log are counted as lost. No earlier event is lost.
func TestEventsAfterTheEndAreLost(t *testing.T) {
	for _, mode := range []string{Batch, Blocking} {
		l, counts := logOf(t, everything, func(c *Config) { c.Mode = mode })
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var running, asking sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		const requests = 1000
		for i := range requests {
			asking.Go(func() {
				if i == requests/2 {
					end()
				}
				goThrough(l, eventOf("list", "pods"))
			})
		}
		asking.Wait()
		running.Wait()
		goThrough(l, eventOf("list", "pods"))
		if lost, lines := counts.errors[plugin], len(written(t, l)); lost < 2 || lost+lines != 2*requests+2 || l.queued.Load() != 0 {
			t.Errorf("%s: got %d lost and %d written events", mode, lost, lines)
		}
	}
}

// lost returns the number of events that were not written.
func (c *counted) lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errors[plugin]
}

// stuck is an output on a disk that answers each write with the next error from a channel.
type stuck chan error

func (s stuck) Write(p []byte) (int, error) { return len(p), <-s }
func (stuck) Close() error                  { return nil }

// Events that are not written ten seconds after the end, and all later events, are counted as lost: those in the queue,
// and those whose write has not ended. They count once, even if the write fails later.
func TestEventsOfStuckDiskAreLost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, counts := logOf(t, everything, func(*Config) {})
		_ = l.out.Close()
		disk := make(stuck)
		l.out = disk
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		goThrough(l, eventOf("list", "pods"))
		synctest.Wait()
		for range 10 {
			goThrough(l, eventOf("list", "pods"))
		}
		if lines, _ := l.Waiting(); lines != 22 {
			t.Errorf("got %d waiting lines, want 22", lines)
		}
		end()
		running.Wait()
		goThrough(l, eventOf("list", "pods"))
		disk <- errNotStored
		close(disk)
		synctest.Wait()
		if lost := counts.lost(); lost != 24 {
			t.Errorf("got %d lost events, want 24", lost)
		}
	})
}

// In mode blocking, the same applies to events of requests that wait for the disk, and no later request waits. Writes
// that then fail do not count again.
func TestBlockedEventsOfStuckDiskAreLost(t *testing.T) {
	l, counts := logOf(t, everything, func(c *Config) { c.Mode = Blocking })
	_ = l.out.Close()
	disk := make(stuck)
	l.out = disk
	var asking sync.WaitGroup
	ask := func() { asking.Go(func() { goThrough(l, eventOf("list", "pods")) }) }
	for range 3 {
		ask()
	}
	testkit.Eventually(t, "three lines wait", func() error {
		if lines, _ := l.Waiting(); lines != 3 {
			return fmt.Errorf("got %d", lines)
		}
		return nil
	})
	l.giveUp()
	ask()
	testkit.Eventually(t, "two later lines are lost, too", func() error {
		if lost := counts.lost(); lost != 5 {
			return fmt.Errorf("got %d lost events", lost)
		}
		return nil
	})
	for range 3 {
		disk <- errNotStored
	}
	asking.Wait()
	if lost := counts.lost(); lost != 8 {
		t.Errorf("got %d lost events, want 8: each request has a second line", lost)
	}
	l.finish()
}

// Concurrent requests leave complete lines, and none is lost.
func TestConcurrentRequestsLeaveCompleteLines(t *testing.T) {
	for _, mode := range []string{Batch, Blocking} {
		l, counts := logOf(t, everything, func(c *Config) { c.Mode = mode })
		ctx, end := context.WithCancel(t.Context())
		var running, asking sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		for i := range 20 {
			asking.Go(func() {
				for j := range 50 {
					e := eventOf("list", "pods")
					e.AuditID = fmt.Sprint(i, "-", j)
					goThrough(l, e)
				}
			})
		}
		asking.Wait()
		end()
		running.Wait()
		ids := map[string]int{}
		for _, line := range written(t, l) {
			_, rest, ok := strings.Cut(line, `"auditID":"`)
			if !ok || !strings.HasPrefix(line, `{"kind":"Event"`) || !strings.HasSuffix(line, "}") {
				t.Fatalf("got %s", line)
			}
			ids[strings.SplitN(rest, `"`, 2)[0]]++
		}
		if len(ids) != 1000 || ids["3-4"] != 2 || len(counts.errors) != 0 {
			t.Errorf("%s: got %d requests, %+v", mode, len(ids), counts)
		}
	}
}

// The legacy format has kube-apiserver's text.
func TestLegacyFormat(t *testing.T) {
	l, _ := logOf(t, everything, func(c *Config) { c.Format = Legacy })
	e := eventOf("list", "pods")
	l.evaluate(e)
	l.Done(e)
	l.finish()
	if lines := written(t, l); len(lines) != 1 || !strings.Contains(lines[0], `AUDIT: id="" stage="ResponseComplete" ip="10.0.0.1" method="list" user="alice"`) {
		t.Errorf("got %q", lines)
	}
}

// An invalid configuration is an error that names the flag.
func TestInvalidConfigIsRefused(t *testing.T) {
	policy := func(text string) func(*Config) {
		return func(c *Config) {
			c.PolicyFile, c.Path = filepath.Join(t.TempDir(), "policy"), filepath.Join(t.TempDir(), "audit.log")
			if err := os.WriteFile(c.PolicyFile, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for want, change := range map[string]func(*Config){
		"--audit-policy-file and --audit-log-path must be set together": func(c *Config) { c.Path = "-" },
		"--audit-log-mode \"x\"":                            func(c *Config) { c.Mode = "x" },
		"--audit-log-format \"x\"":                          func(c *Config) { c.Format = "x" },
		"--audit-log-maxsize -1":                            func(c *Config) { c.MaxSize = -1 },
		"--audit-policy-file: failed to read file path":     func(c *Config) { c.PolicyFile, c.Path = "/nowhere", "-" },
		"--audit-policy-file: failed decoding":              policy("apiVersion: v1\nkind: Pod\n"),
		"--audit-policy-file: loaded illegal policy with 0": policy("apiVersion: audit.k8s.io/v1\nkind: Policy\n"),
		"Unsupported value: \"Everything\"":                 policy("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n"),
		"--audit-log-path: ":                                func(c *Config) { policy(everything)(c); c.Path = t.TempDir() },
	} {
		c := DefaultConfig()
		change(&c)
		err := c.Validate()
		if err == nil {
			_, err = New(c, newCounted(), zap.NewNop())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// The shipped policy selects lists and watches of objects and changes of the log level, but no GETs of objects.
func TestShippedPolicy(t *testing.T) {
	text, err := os.ReadFile("../../deploy/audit/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	leases := eventOf("watch", "leases")
	leases.Group = "coordination.k8s.io"
	for name, test := range map[string]struct {
		event *observe.Event
		want  int
	}{
		"list": {eventOf("list", "pods"), 1}, "watch": {eventOf("watch", "pods"), 2}, "get": {eventOf("get", "pods"), 0}, "leases": {leases, 0},
		"level":  {&observe.Event{Verb: "put", Path: oplog.LevelPath, Caller: &user.DefaultInfo{}, Code: 200}, 1},
		"health": {&observe.Event{Verb: "get", Path: "/readyz", Caller: &user.DefaultInfo{}, Code: 200}, 0},
	} {
		l, _ := logOf(t, string(text), func(*Config) {})
		goThrough(l, test.event)
		l.finish()
		if lines := written(t, l); len(lines) != test.want {
			t.Errorf("%s: got %q", name, lines)
		}
	}
}

// BenchmarkRequest measures the cost of a request with two events, with none, and without an audit log.
func BenchmarkRequest(b *testing.B) {
	const lists = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata, verbs: [list, watch]}\n"
	for name, policy := range map[string]string{"two events": everything, "none": lists} {
		b.Run(name, func(b *testing.B) {
			l, _ := logOf(b, policy, func(c *Config) { c.MaxBackups = 1 })
			ctx, end := context.WithCancel(b.Context())
			var running sync.WaitGroup
			running.Go(func() { l.Run(ctx) })
			e := benchEvent()
			b.ReportAllocs()
			for b.Loop() {
				goThrough(l, e)
			}
			end()
			running.Wait()
		})
	}
}
