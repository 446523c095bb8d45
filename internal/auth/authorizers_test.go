package auth

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// onlyRBAC are metrics of a kube-apiserver without webhooks.
const onlyRBAC = `# HELP apiserver_audit_event_total Counter of audit events generated and sent to the audit backend.
# TYPE apiserver_audit_event_total counter
apiserver_audit_event_total 0
# HELP apiserver_authorization_decisions_total Total number of terminal decisions made by an authorizer.
# TYPE apiserver_authorization_decisions_total counter
apiserver_authorization_decisions_total{decision="allowed",name="node",type="Node"} 12
apiserver_authorization_decisions_total{decision="allowed",name="rbac",type="RBAC"} 1234
apiserver_request_total{code="200",component="apiserver",resource="webhooks"} 3
`

// withWebhook are metrics of a kube-apiserver with a webhook that has been asked.
const withWebhook = onlyRBAC + `apiserver_authorization_webhook_evaluations_total{name="default",result="success"} 1
`

// scrapes is a MetricsReader with fixed metrics.
type scrapes struct {
	mu    sync.Mutex // guards the fields below
	text  string
	fail  error
	asked int
}

func (s *scrapes) set(text string, fail error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.fail = text, fail
}

// count returns the number of scrapes since the last call.
func (s *scrapes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked
	s.asked = 0
	return n
}

// Stream implements MetricsReader.
func (s *scrapes) Stream(_ context.Context, path string, read func(io.Reader) error) error {
	s.mu.Lock()
	text, fail := s.text, s.fail
	s.asked++
	s.mu.Unlock()
	if path != "/metrics" || fail != nil {
		return errors.Join(errors.New(path), fail)
	}
	return read(iotest.OneByteReader(strings.NewReader(text)))
}

// Metrics show whether an authorizer may look at the extra. A doubtful line counts as if it may.
func TestMetricsShowAuthorizers(t *testing.T) {
	decisions := func(kind string) string {
		return onlyRBAC + `apiserver_authorization_decisions_total{decision="denied",name="x",type="` + kind + "\"} 1\n"
	}
	for name, c := range map[string]struct {
		text string
		want string // "", "others" or "unknown"
	}{
		"only RBAC":           {onlyRBAC, ""},
		"ABAC":                {decisions("ABAC"), ""},
		"a webhook decided":   {decisions("Webhook"), "others"},
		"an unknown type":     {decisions("Custom"), "others"},
		"a hidden type":       {decisions("unexpected"), "others"},
		"no type":             {onlyRBAC + `apiserver_authorization_decisions_total{decision="denied",name="x"} 1`, "others"},
		"a webhook was asked": {withWebhook, "others"},
		"a webhook failed":    {onlyRBAC + `apiserver_authorization_webhook_evaluations_fail_open_total{name="x"} 1`, "others"},
		"a webhook answered":  {onlyRBAC + `apiserver_authorization_webhook_duration_seconds_sum{name="x"} 1`, "others"},
		"excluded":            {onlyRBAC + `apiserver_authorization_match_condition_exclusions_total{name="x"} 1`, "others"},
		"a condition failed":  {onlyRBAC + `apiserver_authorization_match_condition_evaluation_errors_total{name="x"} 1`, "others"},
		"a comment":           {onlyRBAC + "# HELP apiserver_authorization_webhook_duration_seconds x\n", ""},
		"a long line":         {"x{" + strings.Repeat("apiserver_authorization_webhook_", 10_000) + "} 1\n" + onlyRBAC, ""},
		"after a long line":   {"x{" + strings.Repeat("y", 1<<20) + "} 1\n" + withWebhook, "others"},
		"nothing":             {"", "unknown"},
		"another server":      {"apiserver_request_total 1\n", "unknown"},
		"RBAC did not decide": {strings.ReplaceAll(onlyRBAC, `"RBAC"`, `"Node"`), "unknown"},
		"a page, not metrics": {"<html><body>log in</body></html>", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAuthorizers(strings.NewReader(c.text))
			var others *othersError
			got := "unknown"
			switch {
			case err == nil:
				got = ""
			case errors.As(err, &others):
				got = "others"
			}
			if got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// An incomplete answer shows nothing.
func TestIncompleteMetricsShowNothing(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(onlyRBAC), iotest.ErrReader(io.ErrUnexpectedEOF))
	if err := readAuthorizers(broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

func FuzzReadAuthorizers(f *testing.F) {
	f.Add(onlyRBAC)
	f.Add(withWebhook)
	f.Add(`apiserver_authorization_decisions_total{type="`)
	f.Fuzz(func(t *testing.T, text string) {
		if err := readAuthorizers(strings.NewReader(text)); err == nil && !strings.Contains(text, `type="RBAC"`) {
			t.Error("got nil without a decision of RBAC")
		}
	})
}

// The reason of an answer shows whether RBAC alone decided.
func TestAnswersByOtherAuthorizersAreNoticed(t *testing.T) {
	for _, c := range []struct {
		status authorizationv1.SubjectAccessReviewStatus
		want   bool
	}{
		{authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by RoleBinding "a/b" of Role "c"`}, false},
		{authorizationv1.SubjectAccessReviewStatus{Allowed: true}, true},
		{authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "webhook: RBAC: allowed by me"}, true},
		{authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true, Reason: "RBAC: allowed by x"}, true},
		{authorizationv1.SubjectAccessReviewStatus{}, false},
		{authorizationv1.SubjectAccessReviewStatus{Denied: true}, true},
		{authorizationv1.SubjectAccessReviewStatus{Reason: `RBAC: clusterrole "x" not found`}, false},
		{authorizationv1.SubjectAccessReviewStatus{Reason: `rbac: RBAC: [role "x" not found, role "y" not found]`}, false},
		{authorizationv1.SubjectAccessReviewStatus{Reason: "No policy matched."}, true},
		{authorizationv1.SubjectAccessReviewStatus{Reason: "rbac: RBAC: role not found\nwebhook: not on this node"}, true},
	} {
		if got := byOthers(c.status); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.status, got, c.want)
		}
	}
}
