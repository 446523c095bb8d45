package incidents

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kube-apiserver's priority and fairness rejects all requests of the facade except watches.
func TestThrottled(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	_, path := newCrowd(t)
	way := interpose(t)
	run := suite.StartFacadeBy(t, way.kubeconfig, suite.Unpacked)
	o := operatorOf(run, nil)
	r, _ := startReaders(t, run.Config, path)
	r.gets(t, http.StatusOK)
	m := watch(t, nil, run)
	way.answer(throttle)
	m.passes(t, 18)
	m.firesBeside([]string{"ListfacadeForwardsReads"}, `ListfacadeUpstreamThrottles{pod="a"}`)
	r.gets(t, http.StatusTooManyRequests)
	o.said(t, "Throttled by the upstream with 429: passthrough", "", "")
	o.pageSays(t, "kube-apiserver throttles: ")
	if line := o.topLine(t, "forwarded"); !strings.Contains(line, "controller/v1 list configmaps v1 namespace <none> MostRecent upstream") {
		t.Errorf("top --by forwarded: %s", line)
	}
	if first := o.clients(t, "forwarded").Clients[0]; first.UserAgent != "controller/v1" || first.Source != "upstream" {
		t.Errorf("/debug/clients: %+v", first)
	}
	way.answer(nil)
	r.gets(t, http.StatusOK)
	m.passes(t, 12)
	m.fires()
	m.verify(t)
}

// throttle answers like kube-apiserver when a priority level is full.
func throttle(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
	if r.URL.Query().Has("watch") {
		return false
	}
	w.Header().Set("Retry-After", "1")
	status(w, http.StatusTooManyRequests, string(metav1.StatusReasonTooManyRequests), "too many requests, please try again later")
	return true
}
