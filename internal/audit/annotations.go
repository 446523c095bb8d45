package audit

import (
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// decide adds annotations with the authorizer's decision. For forwarded requests the upstream decides, and its status
// code shows the decision.
func (r *record) decide() {
	decision := r.Decision
	if decision == observe.Allowed && r.PassedThrough && r.Source == observe.FromUpstream &&
		r.Code == http.StatusForbidden {
		decision = observe.Forbidden
	}
	if decision != observe.Undecided {
		r.annotate("authorization.k8s.io/decision", string(decision))
	}
	if decision != observe.Undecided || r.DecisionReason != "" {
		r.annotate("authorization.k8s.io/reason", r.DecisionReason)
	}
}

// slow is the duration above which the latencies of a request are annotated, as in kube-apiserver.
const slow = 500 * time.Millisecond

const latencies = 7

// addLatencies adds annotations with the latencies of a slow request, under kube-apiserver's names. The annotation for
// etcd has the time that the request waited for the upstream. As in kube-apiserver, the time of serializing includes
// the time of writing.
func (r *record) addLatencies() {
	if r.Took <= slow {
		return
	}
	const prefix = "apiserver.latency.k8s.io/"
	w := &r.Waits
	for _, latency := range [latencies]struct {
		name string
		took time.Duration
	}{
		{"apf-queue-wait", w[observe.Queueing]},
		{"authentication", w[observe.Authenticating]},
		{"authorization", w[observe.Authorizing]},
		{"etcd", w[observe.Discovering] + w[observe.Syncing] + w[observe.Proving] + w[observe.Asking]},
		{"response-write", w[observe.Writing]},
		{"serialize-response-object", w[observe.Encoding] + w[observe.Writing]},
		{"total", r.Took},
	} {
		if latency.took > 0 {
			r.annotate(prefix+latency.name, latency.took.String())
		}
	}
}
