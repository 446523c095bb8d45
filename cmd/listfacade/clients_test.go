package main

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
)

// withinRetries bounds what clients may take to get over a 504: before an informer hears of it, its REST client has asked eleven
// times, with three seconds for each answer and one between them.
const withinRetries = 2 * time.Minute

// TestClients has informers of many ages, each with the libraries of its time, follow ten thousand ConfigMaps through a facade that
// is restarted, loses its window, and is replaced by two replicas of which one lags. What they print is held against the upstream.
func TestClients(t *testing.T) {
	informers := informersOfAllAges(t)
	own, err := testkit.StartCluster(t.Context(), "--components=none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	a := newAudience(t, own)
	a.fill(t)
	a.admit(t, informers)
	a.followChanges(t)
	a.surviveRestart(t)
	a.surviveLaggingReplica(t)
}

// followChanges is what clients do all day.
func (a *audience) followChanges(t *testing.T) {
	for range 3 {
		a.shake(t)
	}
	a.agree(t, within)
	if told := a.door.told(http.StatusGone); len(told) > 0 {
		t.Errorf("nothing happened but changes, and these were told 410: %v", told)
	}
}

// surviveRestart replaces the facade by one that knows nothing of the time before.
func (a *audience) surviveRestart(t *testing.T) {
	a.run.close(t)
	a.shake(t)
	a.open(t, a.facade(t))
	a.agree(t, within)
}

// surviveLaggingReplica puts two replicas behind the address that the clients know. One is new, and answers watches; the other has
// fallen behind, cannot catch up, and answers lists. The clients' watches are told 410, and lists at the versions that they know
// 504, for as long as they ask for those: they must come to ask for something else, and that must be answered.
func (a *audience) surviveLaggingReplica(t *testing.T) {
	link := newLink(t, a.config)
	lagging := launchFacade(t, link.kubeconfig, func(c *config) { c.maxStaleness = 0 })
	a.version(t, lagging) // it has the ConfigMaps now
	link.freeze()
	a.allWatch(t) // a watch that ends before it has told anything would be a reason to list, too
	mark := a.put(t, configMaps, "mark", "", "")
	a.shake(t)
	a.agree(t, within)
	a.run.close(t)
	a.shake(t)
	fresh := startFacade(t, a.cluster)
	a.version(t, fresh)
	before := a.door.told(http.StatusGone)
	a.open(t, a.balancer(t, fresh, lagging))
	a.agree(t, withinRetries)
	a.shake(t)
	a.agree(t, within)
	gone, tooLarge := a.door.told(http.StatusGone), a.door.told(http.StatusGatewayTimeout)
	for _, s := range a.spectators {
		if s.cached && gone[s.agent] == before[s.agent] {
			t.Errorf("%s was not told that its version is too old", s.name)
		}
		if s.cached && s.relistsAtVersion && tooLarge[s.agent] == 0 {
			t.Errorf("%s was not told that the facade is behind it", s.name)
		}
	}
	if now := a.version(t, lagging); now >= mark {
		t.Errorf("the lagging replica is at %d, and was to stay below %d", now, mark)
	}
}

// version is how far a facade is with the ConfigMaps.
func (a *audience) version(t *testing.T, run *running) uint64 {
	t.Helper()
	in := newClients(t, run.Config).dynamic.Resource(configMaps).Namespace("none")
	list, err := in.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	return rvOf(t, list.GetResourceVersion())
}
