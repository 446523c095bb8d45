package audit

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	pluginlog "k8s.io/apiserver/plugin/pkg/audit/log"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// oracle returns the line of kube-apiserver's log backend for an event.
func oracle(e *auditinternal.Event) string {
	var out bytes.Buffer
	pluginlog.NewBackend(&out, pluginlog.FormatJson, auditv1.SchemeGroupVersion).ProcessEvents(e)
	return out.String()
}

// texts are strings with and without characters that JSON escapes.
var texts = []string{
	"", "", "pods", "system:serviceaccount:a:b", `q"uote`, `back\slash`, "<&>", "\x00\n\t\x7f", "ümlaut", "\u2028", "bad\xffutf8", "日本", "a b/c=d",
	strings.Repeat("long", 2000),
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func text(r *rand.Rand) string { return pick(r, texts...) }

func someTexts(r *rand.Rand) []string {
	var some []string
	for range r.IntN(4) {
		some = append(some, text(r))
	}
	return some
}

// randomEvent returns an event with random values in every field of a line.
func randomEvent(r *rand.Rand) *observe.Event {
	e := &observe.Event{
		AuditID: text(r), UserAgent: text(r), URI: text(r), Verb: text(r), Group: text(r), Version: text(r), Resource: text(r), Subresource: text(r),
		Namespace: text(r), Name: text(r), Scope: pick(r, "", "cluster"), Code: pick(r, 0, 200, 403, 500), Header: http.Header{},
		Client: pick(r, "10.0.0.1:4711", "[::1]:80", "[::ffff:10.0.0.2]:443", "[fe80::1%eth0]:443", "nonsense", "10.0.0.3"),
		Began:  time.Unix(r.Int64N(1<<32), pick[int64](r, 0, 1000, 999_999_999)), Took: pick(r, 0, time.Second), Source: pick(r, observe.FromCache, observe.FromUpstream),
		Decision: pick(r, observe.Undecided, observe.Allowed, observe.Forbidden), DecisionReason: text(r), PassedThrough: pick(r, true, false),
		Panicked: text(r), Audited: observe.Audited{Level: pick(r, "Metadata", "Request")},
	}
	for _, step := range []observe.Step{observe.Authenticating, observe.Authorizing, observe.Queueing, observe.Proving, observe.Encoding, observe.Writing} {
		e.Waits[step] = pick(r, 0, time.Duration(r.Int64N(int64(time.Minute))))
	}
	if r.IntN(3) > 0 {
		caller := &user.DefaultInfo{Name: text(r), UID: text(r), Groups: someTexts(r)}
		for range r.IntN(4) {
			if caller.Extra == nil {
				caller.Extra = map[string][]string{}
			}
			caller.Extra[text(r)] = pick(r, someTexts(r), []string{})
		}
		e.Caller = caller
	}
	if r.IntN(2) > 0 {
		e.Status = &metav1.Status{Status: text(r), Message: text(r), Reason: metav1.StatusReason(text(r)), Code: 403, Details: pick(r, nil, &metav1.StatusDetails{Name: text(r)})}
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip"} {
		if r.IntN(2) > 0 {
			e.Header.Set(name, pick(r, strings.Repeat("1.2.3.4,", 100), "1.2.3.4", "1.2.3.4, 5.6.7.8", "x", "010.0.0.1", "::1", "10.0.0.1"))
		}
	}
	return e
}

// Lines have the bytes of kube-apiserver's log backend for the same event.
func TestLinesMatchKubeAPIServer(t *testing.T) {
	r := settings.Random(t)
	for range 1000 {
		e := randomEvent(r)
		stage := pick(r, auditinternal.StageRequestReceived, auditinternal.StageResponseStarted, auditinternal.StageResponseComplete, auditinternal.StagePanic)
		record := newRecord(e, stage)
		if got, want := string(record.appendLine(nil)), oracle(record.event()); got != want {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Fatalf("differs from byte %d on: got\n%.200s\nwant\n%.200s", at, got[max(at-50, 0):], want[max(at-50, 0):])
		}
	}
}

// A line is bounded, whatever a client sends, and contains the address of the connection.
func TestLinesAreBounded(t *testing.T) {
	much := strings.Repeat("\x01", 128<<10)
	e := &observe.Event{
		URI: "/" + much, Verb: much, UserAgent: much, Scope: "resource", Group: much, Version: much, Resource: much, Subresource: much, Namespace: much,
		Name: much, Client: "10.0.0.1:4711", Header: http.Header{"X-Forwarded-For": {strings.Repeat("1.2.3.4,", 16<<10)}}, Code: 401,
		Audited: observe.Audited{Level: "Metadata"},
	}
	r := newRecord(e, auditinternal.StageResponseStarted)
	line := string(r.appendLine(nil))
	if len(line) > 256<<10 || strings.Count(line, "...TRUNCATED") != 9 || !strings.Contains(line, `"1.2.3.4","10.0.0.1"]`) {
		t.Errorf("got %d bytes: %.200s", len(line), line)
	}
}

// A record at each stage has the content of kube-apiserver's event.
func TestRecordsMatchKubeAPIServer(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	base := func() *observe.Event {
		return &observe.Event{
			AuditID: "x", Client: "10.0.0.1:4711", Began: began, Caller: &user.DefaultInfo{Name: "alice"}, Code: 200, Took: time.Millisecond,
			Decision: observe.Allowed, DecisionReason: "RBAC", Audited: observe.Audited{Level: "Metadata"},
		}
	}
	status := func(s *metav1.Status) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%d %s %s %s", s.Code, s.Status, s.Reason, s.Message)
	}
	decision, reason := "authorization.k8s.io/decision", "authorization.k8s.io/reason"
	for name, test := range map[string]struct {
		stage       auditinternal.Stage
		change      func(*observe.Event)
		status      string
		annotations map[string]string
	}{
		"received": {auditinternal.StageRequestReceived, func(*observe.Event) {}, "none", nil},
		"complete": {auditinternal.StageResponseComplete, func(*observe.Event) {}, "200   ", map[string]string{decision: "allow", reason: "RBAC"}},
		"an error": {auditinternal.StageResponseComplete, func(e *observe.Event) {
			e.Status = &metav1.Status{Status: "Failure", Reason: "NotFound", Message: "no", Code: 404}
		}, "404 Failure NotFound no", map[string]string{decision: "allow", reason: "RBAC"}},
		"gone": {auditinternal.StageResponseComplete, func(e *observe.Event) { e.Code = 0 }, "200 Success  Connection closed early",
			map[string]string{decision: "allow", reason: "RBAC"}},
		"not asked": {auditinternal.StageResponseComplete, func(e *observe.Event) { e.Decision, e.DecisionReason = "", "internal error" }, "200   ",
			map[string]string{reason: "internal error"}},
		"refused upstream": {auditinternal.StageResponseComplete, func(e *observe.Event) {
			e.DecisionReason, e.PassedThrough, e.Source, e.Code = "", true, observe.FromUpstream, 403
		}, "403   ", map[string]string{decision: "forbid", reason: ""}},
		"unauthenticated": {auditinternal.StageResponseStarted, func(e *observe.Event) {
			e.Caller, e.Decision, e.DecisionReason, e.Code = nil, "", "", 401
			e.Status = &metav1.Status{Status: "Failure", Reason: "Unauthorized", Message: "Unauthorized", Code: 401}
		}, "401 Failure Unauthorized Unauthorized", nil},
		"a panic": {auditinternal.StagePanic, func(e *observe.Event) { e.Panicked = "a bug" }, "500 Failure InternalError APIServer panic'd: a bug",
			map[string]string{decision: "allow", reason: "RBAC"}},
		"slow": {auditinternal.StageResponseComplete, func(e *observe.Event) {
			e.Took = 501 * time.Millisecond
			e.Waits[observe.Proving], e.Waits[observe.Asking], e.Waits[observe.Encoding], e.Waits[observe.Writing] = 1, 2, 3, 4
		}, "200   ", map[string]string{
			decision: "allow", reason: "RBAC", "apiserver.latency.k8s.io/etcd": "3ns", "apiserver.latency.k8s.io/serialize-response-object": "7ns",
			"apiserver.latency.k8s.io/response-write": "4ns", "apiserver.latency.k8s.io/total": "501ms",
		}},
	} {
		e := base()
		test.change(e)
		r := newRecord(e, test.stage)
		got := r.event()
		if status(got.ResponseStatus) != test.status || fmt.Sprint(got.Annotations) != fmt.Sprint(test.annotations) {
			t.Errorf("%s: got %s, %v", name, status(got.ResponseStatus), got.Annotations)
		}
		if received := test.stage == auditinternal.StageRequestReceived; got.StageTimestamp.Equal(&got.RequestReceivedTimestamp) != received {
			t.Errorf("%s: got stage at %s, received at %s", name, got.StageTimestamp, got.RequestReceivedTimestamp)
		}
	}
}

func benchEvent() *observe.Event {
	return &observe.Event{
		AuditID: "6f1a1a0e-0b1c-4b7e-9f0e-000000000000", Client: "10.0.0.1:4711", URI: "/api/v1/namespaces/ns/pods/a?resourceVersion=0", Verb: "get",
		Version: "v1", Resource: "pods", Namespace: "ns", Name: "a", Scope: "resource", Path: "/api/v1/namespaces/ns/pods/a",
		UserAgent: "kubectl/v1.37.1 (linux/amd64) kubernetes/aaaaaaa", Code: 200, Began: time.Now(), Decision: observe.Allowed,
		DecisionReason: `RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "alice"`,
		Caller: &user.DefaultInfo{
			Name: "system:serviceaccount:a:b", UID: "x", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"},
			Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=aaaaaaaaaaaaaaaaaaaaaaa"}},
		},
		Audited: observe.Audited{Level: "Metadata"},
	}
}

// BenchmarkLine measures encoding one event, here and by kube-apiserver's log backend.
func BenchmarkLine(b *testing.B) {
	e := benchEvent()
	b.Run("listfacade", func(b *testing.B) {
		b.ReportAllocs()
		var line []byte
		for b.Loop() {
			r := newRecord(e, auditinternal.StageResponseComplete)
			line = r.appendLine(line[:0])
		}
	})
	b.Run("kube-apiserver", func(b *testing.B) {
		backend := pluginlog.NewBackend(io.Discard, pluginlog.FormatJson, auditv1.SchemeGroupVersion)
		b.ReportAllocs()
		for b.Loop() {
			r := newRecord(e, auditinternal.StageResponseComplete)
			backend.ProcessEvents(r.event())
		}
	})
}
