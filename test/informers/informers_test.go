package informers

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Informers of many client-go releases follow ten thousand ConfigMaps through a facade. The facade replays a lost
// window, restarts, loses its window without replay, and is replaced by two replicas, of which one lags. The test
// compares the output of the informers with the upstream.
func TestClients(t *testing.T) {
	t.Parallel()
	informers := informersOfAllAges(t)
	own, err := testkit.StartCluster(t.Context(), "--components=none")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	f := newFleet(t, own)
	f.fill(t)
	f.startInformers(t, informers)
	f.followChanges(t)
	f.followGap(t)
	f.surviveRestart(t)
	f.surviveLostWindow(t)
	f.surviveLaggingReplica(t)
}

// followChanges changes objects without a fault.
func (f *fleet) followChanges(t *testing.T) {
	for range 3 {
		f.change(t)
	}
	f.agree(t)
	if told := f.log.told(http.StatusGone); len(told) > 0 {
		t.Errorf("got 410 without a fault: %v", told)
	}
}

// followGap compacts events of the upstream that the facade has not received. The facade replays the lost window, and
// clients receive only changes.
func (f *fleet) followGap(t *testing.T) {
	f.loseWindow(t)
	f.agree(t)
	if told := f.log.told(http.StatusGone); len(told) > 0 {
		t.Errorf("got 410 although the lost window was replayed: %v", told)
	}
	testkit.Eventually(t, "the log reports the replay", func() error {
		if bridged, others := f.run.LostWindows(suite.ConfigMaps); len(bridged) == 0 || len(others) > 0 {
			return fmt.Errorf("got lost windows %v and others %v, want some and none", bridged, others)
		}
		return nil
	})
}

// surviveLostWindow is followGap without replay: the facade must end every watch with a 410.
func (f *fleet) surviveLostWindow(t *testing.T) {
	f.allWatch(t)
	before := f.log.told(http.StatusGone)
	f.loseWindow(t)
	f.agree(t)
	for _, s := range f.informers {
		f.wasTold(t, s, http.StatusGone, before[s.agent])
	}
}

// wasTold waits until a client has received a code more often than before. An answer is recorded when it ends, which
// may be after the client has acted on it.
func (f *fleet) wasTold(t *testing.T, s *informer, code, before int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s receives %d", s.name, code), func() error {
		if f.log.told(code)[s.agent] <= before {
			return errors.New("it has not received the code")
		}
		return nil
	})
}

// loseWindow compacts events of the upstream that the facade has not received, and continues with changes.
func (f *fleet) loseWindow(t *testing.T) {
	f.allWatch(t)
	for range 3 { // other resources move on, so that the restarted server's window begins above the facade's version
		f.others++
		f.Create(t, suite.Accounts, map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": fmt.Sprintf("other%d", f.others)},
		})
	}
	f.do(t, "kill")
	if err := f.cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.do(t, "start")
	f.change(t)
}

// do sends a command to kube-apiserver.
func (f *fleet) do(t *testing.T, command string) {
	t.Helper()
	if err := f.cluster.Do(t.Context(), "kube-apiserver", command); err != nil {
		t.Fatal(err)
	}
}

// surviveRestart replaces the facade by a new one without history and without replay.
func (f *fleet) surviveRestart(t *testing.T) {
	f.run.Close(t)
	f.change(t)
	f.open(t, f.facade(t, func(c *facade.Config) { c.ReplayLostWindows = false }))
	f.agree(t)
}

// surviveLaggingReplica puts two replicas behind the clients' address. A new one serves watches. The other lags
// permanently and serves lists. Watches receive 410, and lists at the clients' versions receive 504. The clients must
// change their requests, and these must be answered.
func (f *fleet) surviveLaggingReplica(t *testing.T) {
	proxy := newFreezingProxy(t, f.Config)
	lagging := suite.LaunchFacade(t, proxy.kubeconfig, suite.Unpacked, func(c *facade.Config) { c.MaxStaleness = 0 })
	f.version(t, lagging)
	testkit.Eventually(t, "the replica has the ConfigMaps", func() error {
		if synced := syncedLanes(lagging, suite.ConfigMaps); synced < 2 {
			return fmt.Errorf("synced in %d encodings", synced)
		}
		return nil
	})
	proxy.freeze()
	mark := f.Put(t, suite.ConfigMaps, "mark", "", "")
	f.change(t)
	f.agree(t)
	f.run.Close(t)
	f.change(t)
	f.do(t, "kill") // after its restart, kube-apiserver no longer has the events that the new replica would ask for
	f.do(t, "start")
	fresh := suite.StartFacade(t, f.cluster, suite.Unpacked)
	f.version(t, fresh)
	f.open(t, f.balancer(t, fresh, lagging))
	f.agree(t)
	f.change(t)
	f.agree(t)
	for _, s := range f.informers {
		if s.relistsAtVersion {
			f.wasTold(t, s, http.StatusGatewayTimeout, 0)
		}
	}
	if now := f.version(t, lagging); now >= mark {
		t.Errorf("the lagging replica is at %d, want below %d", now, mark)
	}
}

// syncedLanes returns the number of synced lanes of a resource, one per encoding.
func syncedLanes(run *suite.Facade, gvr schema.GroupVersionResource) (synced int) {
	for _, lane := range run.Lanes() {
		if lane.Group == gvr.Group && lane.Resource == gvr.Resource && lane.Synced {
			synced++
		}
	}
	return synced
}

// version returns the version of a facade's ConfigMaps. The facade then has a lane in each encoding.
func (f *fleet) version(t *testing.T, run *suite.Facade) uint64 {
	t.Helper()
	config := rest.CopyConfig(run.Config)
	config.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := typed.CoreV1().ConfigMaps("none").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	in := suite.NewClients(t, run.Config).Dynamic.Resource(suite.ConfigMaps).Namespace("none")
	list, err := in.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	return suite.RVOf(t, list.GetResourceVersion())
}
