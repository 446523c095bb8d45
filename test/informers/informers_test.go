package informers

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// informerWithin bounds every wait for clients. The longest is for those that are told 504: before an informer hears of it, its REST
// client has asked eleven times, with three seconds for each answer and one between them.
const informerWithin = 5 * time.Minute

// TestClients has informers of many ages, each with the libraries of its time, follow ten thousand ConfigMaps through a facade that
// is restarted, loses its window, and is replaced by two replicas of which one lags. What they print is held against the upstream.
func TestClients(t *testing.T) {
	informers := informersOfAllAges(t)
	own, err := testkit.StartCluster(t.Context(), "--components=none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	a := newFleet(t, own)
	a.fill(t)
	a.startInformers(t, informers)
	a.followChanges(t)
	a.surviveLostWindow(t)
	a.surviveRestart(t)
	a.surviveLaggingReplica(t)
}

// followChanges is what clients do all day.
func (a *fleet) followChanges(t *testing.T) {
	for range 3 {
		a.change(t)
	}
	a.agree(t)
	if told := a.log.told(http.StatusGone); len(told) > 0 {
		t.Errorf("nothing happened but changes, and these were told 410: %v", told)
	}
}

// surviveLostWindow makes the upstream forget what the facade has not answer yet, so that the facade has to tell every watch 410.
func (a *fleet) surviveLostWindow(t *testing.T) {
	a.allWatch(t)
	before := a.log.told(http.StatusGone)
	for i := range 3 { // other resources move on, so that the restarted server's window begins above the facade's version
		a.Create(t, suite.Accounts, map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": fmt.Sprintf("other%d", i)},
		})
	}
	a.do(t, "kill")
	if err := a.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.do(t, "start")
	a.change(t)
	a.agree(t)
	for _, s := range a.informers {
		if s.cached && a.log.told(http.StatusGone)[s.agent] == before[s.agent] {
			t.Errorf("%s was not told that its version is too old", s.name)
		}
	}
}

// do sends a command to kube-apiserver.
func (a *fleet) do(t *testing.T, command string) {
	t.Helper()
	if err := a.cluster.Do(t.Context(), "kube-apiserver", command); err != nil {
		t.Fatal(err)
	}
}

// surviveRestart replaces the facade by one that knows nothing of the time before.
func (a *fleet) surviveRestart(t *testing.T) {
	a.run.Close(t)
	a.change(t)
	a.open(t, a.facade(t))
	a.agree(t)
}

// surviveLaggingReplica puts two replicas behind the address that the clients know. One is new, and answers watches; the other has
// fallen behind, cannot catch up, and answers lists. Watches are told 410, and lists at the versions that clients know 504, for as
// long as they ask for those: they must come to ask for something else, and that must be answered.
func (a *fleet) surviveLaggingReplica(t *testing.T) {
	proxy := newFreezingProxy(t, a.Config)
	lagging := suite.LaunchFacade(t, proxy.kubeconfig, func(c *facade.Config) { c.MaxStaleness = 0 })
	a.version(t, lagging) // it has the ConfigMaps now
	proxy.freeze()
	mark := a.Put(t, suite.ConfigMaps, "mark", "", "")
	a.change(t)
	a.agree(t)
	a.run.Close(t)
	a.change(t)
	fresh := suite.StartFacade(t, a.cluster)
	a.version(t, fresh)
	a.open(t, a.balancer(t, fresh, lagging))
	a.agree(t)
	a.change(t)
	a.agree(t)
	tooLarge := a.log.told(http.StatusGatewayTimeout)
	for _, s := range a.informers {
		if s.cached && s.relistsAtVersion && tooLarge[s.agent] == 0 {
			t.Errorf("%s was not told that the facade is behind it", s.name)
		}
	}
	if now := a.version(t, lagging); now >= mark {
		t.Errorf("the lagging replica is at %d, and was to stay below %d", now, mark)
	}
}

// version is how far a facade is with the ConfigMaps.
func (a *fleet) version(t *testing.T, run *suite.Facade) uint64 {
	t.Helper()
	in := suite.NewClients(t, run.Config).Dynamic.Resource(suite.ConfigMaps).Namespace("none")
	list, err := in.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	return suite.RVOf(t, list.GetResourceVersion())
}
