package audit

import (
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// decide says what the authorizer decided. Of what is passed through, the upstream's answer shows what it did.
func (r *record) decide() {
	decision := r.Decision
	if decision == observe.Allowed && r.PassedThrough && r.Source == observe.FromUpstream && r.Code == http.StatusForbidden {
		decision = observe.Forbidden
	}
	if decision != observe.Undecided {
		r.annotate("authorization.k8s.io/decision", string(decision))
	}
	if decision != observe.Undecided || r.DecisionReason != "" {
		r.annotate("authorization.k8s.io/reason", r.DecisionReason)
	}
}

// slow is from which time on a request's latencies are written, as in kube-apiserver.
const slow = 500 * time.Millisecond

// latencies is how many annotations say what took how long.
const latencies = 7

// addLatencies says where the time of a slow request went, under kube-apiserver's names. What is waited for upstream
// here is what is waited for in etcd there; and there, too, the time of writing is part of the time of serializing.
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
