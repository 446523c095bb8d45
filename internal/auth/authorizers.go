package auth

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// MetricsReader reads the metrics of the server that answers access reviews.
type MetricsReader interface {
	// Stream sends a GET and calls the function read with the body of a 200 response. Other responses are errors.
	Stream(ctx context.Context, path string, read func(io.Reader) error) error
}

// errNotKubeAPIServer is returned for metrics that show no decision of RBAC. kube-apiserver 1.30 and later count the
// decisions of each authorizer. RBAC decides at least the request for these metrics.
var errNotKubeAPIServer = errors.New("the metrics show no decision by RBAC, so the authorizers are unknown")

// othersError is returned when the upstream has an authorizer that may look at the extra of a user.
type othersError struct{ sign string }

func (e *othersError) Error() string { return "another authorizer takes part: " + e.sign }

// strangerError is returned when the review of stranger failed, so that nothing is known about the authorizers.
type strangerError struct{ err error }

func (e *strangerError) Error() string { return "review a user without rights: " + e.err.Error() }

func (e *strangerError) Unwrap() error { return e.err }

// stranger is a user without rights. The facade reviews a request of stranger before it reads the metrics. No
// authorizer allows that request, so each webhook counts it: as evaluated, or as excluded by a match condition.
var stranger = NewCaller(&user.DefaultInfo{Name: "listfacade:stranger"}, ByToken, time.Time{})

// DetectAuthorizers returns nil if no authorizer of the upstream looks at the extra of a user. Otherwise its error says
// which authorizer may, or why that is unknown. It sends one review and at most one request for the metrics.
func DetectAuthorizers(ctx context.Context, upstream Upstream, metrics MetricsReader) error {
	ctx, cancel := context.WithTimeout(ctx, detectWait)
	defer cancel()
	question := Attributes{Caller: stranger, Verb: "get", Version: "v1", Resource: "pods"}
	status, err := review(ctx, upstream, reviewsPath, subjectAccessReview(question))
	if err != nil {
		return &strangerError{err}
	}
	if status.Allowed || byOthers(status) {
		return &othersError{"decision about a user without rights, with the reason: " + status.Reason}
	}
	return metrics.Stream(ctx, "/metrics", readAuthorizers)
}

// readAuthorizers returns nil if kube-apiserver's metrics show that all authorizers ignore the extra.
func readAuthorizers(metrics io.Reader) error {
	lines, rbac := bufio.NewReaderSize(metrics, 64<<10), false
	for begun := false; ; {
		line, more, err := lines.ReadLine()
		switch {
		case errors.Is(err, io.EOF) && rbac:
			return nil
		case errors.Is(err, io.EOF):
			return errNotKubeAPIServer
		case err != nil:
			return fmt.Errorf("read the metrics: %w", err)
		}
		if !begun {
			decides, err := readAuthorizer(line)
			if err != nil {
				return err
			}
			rbac = rbac || decides == "RBAC"
		}
		begun = more // if true, the next read returns the rest of this line
	}
}

// Prefixes of kube-apiserver's metrics about authorizers. Each metric appears with the first decision that it counts.
var (
	ofDecisions = []byte("apiserver_authorization_decisions_total{")
	ofWebhooks  = [][]byte{[]byte("apiserver_authorization_webhook_"), []byte("apiserver_authorization_match_condition_")}
	typeLabel   = []byte(`type="`)
)

// ignorant are the types of authorizers that ignore the extra.
var ignorant = []string{"RBAC", "Node", "ABAC", "AlwaysAllow", "AlwaysDeny"}

// readAuthorizer returns the type of the authorizer whose decisions a line of the metrics counts; "" for other lines.
// It returns a *othersError if this authorizer may look at the extra.
func readAuthorizer(line []byte) (string, error) {
	if slices.ContainsFunc(ofWebhooks, func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) }) {
		metric, _, _ := bytes.Cut(line, []byte("{"))
		return "", &othersError{"metric " + string(metric)}
	}
	labels, ok := bytes.CutPrefix(line, ofDecisions)
	if !ok {
		return "", nil
	}
	begins := bytes.LastIndex(labels, typeLabel) // type is the last label, because the labels are sorted
	if begins < 0 {
		return "", &othersError{"decisions of an authorizer without a type"}
	}
	kind, _, _ := bytes.Cut(labels[begins+len(typeLabel):], []byte(`"`))
	if !slices.Contains(ignorant, string(kind)) {
		return "", &othersError{fmt.Sprintf("decisions of an authorizer of the type %q", kind)}
	}
	return string(kind), nil
}
