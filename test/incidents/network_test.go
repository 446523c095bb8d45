package incidents

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Packets to kube-apiserver are lost without an error.
func TestLostNetwork(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	_, path := newCrowd(t)
	way := layWire(t, suite.FacadeConfig(t, suite.Cluster(t)))
	run := suite.StartFacadeBy(t, way.kubeconfig, suite.Unpacked, func(c *facade.Config) { c.RequestTimeout = time.Second })
	o := operatorOf(run, nil)
	recent, old := startReaders(t, run.Config, path)
	recent.gets(t, http.StatusOK)
	old.gets(t, http.StatusOK)
	m := watch(t, nil, run)
	way.cut()
	recent.gets(t, http.StatusGatewayTimeout)
	testkit.Eventually(t, "/debug/requests shows the requests that wait for the upstream", func() error {
		list := o.requests(t, "age").Items
		if !slices.ContainsFunc(list, func(r observe.Open) bool { return r.UserAgent == "controller/v1" && r.WaitsFor == "upstream" }) {
			return fmt.Errorf("%+v", list)
		}
		return nil
	})
	o.said(t, "No response from the upstream: ", "", "")
	o.said(t, "Slow request", "code", "504")
	m.passes(t, 20)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn"}, `ListfacadeLaneStale{pod="a",resource="configmaps"}`)
	if said := old.gets(t, http.StatusOK); !strings.Contains(said, "has received nothing from") {
		t.Errorf("the answer lacks a staleness warning: %s", said)
	}
	o.pageSays(t, "kube-apiserver has not responded for ")
	if line := o.topLine(t, "forwarded"); !strings.Contains(line, "controller/v1 list configmaps v1 namespace <none> MostRecent upstream") {
		t.Errorf("top --by forwarded: %s", line)
	}
	way.restore()
	recent.gets(t, http.StatusOK)
	m.passes(t, 18)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn"}) // for an hour
	m.verify(t)
}
