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
	// Stream sends a GET and passes the body of a 200 response to read. Other responses are errors.
	Stream(ctx context.Context, path string, read func(io.Reader) error) error
}

// errNotKubeAPIServer is returned for metrics that show no decision of RBAC. kube-apiserver 1.30 and later count the
// decisions of each authorizer, and the facade's own request causes one.
var errNotKubeAPIServer = errors.New("the metrics show no decision by RBAC, so they are not those of kube-apiserver")

// othersError is returned when the upstream has an authorizer that may look at the extra of a user.
type othersError struct{ sign string }

func (e *othersError) Error() string { return "another authorizer takes part: " + e.sign }

// strangerError is returned when the upstream did not answer the review about the stranger. It says nothing about the
// authorizers.
type strangerError struct{ err error }

func (e *strangerError) Error() string { return "review a user without rights: " + e.err.Error() }

// Unwrap returns the cause.
func (e *strangerError) Unwrap() error { return e.err }

// stranger is a user without rights, about whom the facade asks before it reads the metrics. No authorizer allows its
// request, so a webhook has counted the request: as evaluated, or as excluded by a match condition.
var stranger = NewCaller(&user.DefaultInfo{Name: "listfacade:stranger"}, ByToken, time.Time{})

// DetectAuthorizers returns nil if no authorizer of the upstream looks at the extra of a user, and otherwise an error
// that says which one may, or why that is unknown. It sends one review and reads the metrics once.
func DetectAuthorizers(ctx context.Context, upstream Upstream, metrics MetricsReader) error {
	ctx, cancel := context.WithTimeout(ctx, detectWait)
	defer cancel()
	question := Attributes{Caller: stranger, Verb: "get", Version: "v1", Resource: "pods"}
	status, err := review(ctx, upstream, reviewsPath, subjectAccessReview(question))
	if err != nil {
		return &strangerError{err}
	}
	if status.Allowed || byOthers(status) {
		return &othersError{"the decision about a user without rights is: " + status.Reason}
	}
	return metrics.Stream(ctx, "/metrics", readAuthorizers)
}

// readAuthorizers reads kube-apiserver's metrics line by line. It returns nil if they show that authorizers ignore the
// extra, a *othersError or errNotKubeAPIServer otherwise, or an error of reading.
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
		begun = more // the rest of a line that does not fit into the buffer
	}
}

// Prefixes of kube-apiserver's metrics about authorizers. All of them appear with the first decision that they count.
var (
	ofDecisions = []byte("apiserver_authorization_decisions_total{")
	ofWebhooks  = [][]byte{[]byte("apiserver_authorization_webhook_"), []byte("apiserver_authorization_match_condition_")}
	typeLabel   = []byte(`type="`)
)

// ignorant are the types of authorizers that look at the user and the groups only.
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
