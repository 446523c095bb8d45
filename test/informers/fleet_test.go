package informers

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	// manyObjects is how many ConfigMaps there are at the beginning.
	manyObjects = 10_000
	// fillers write them at the same time.
	fillers = 16
)

// audience is a stage, an address, what serves there, and the clients who know that address.
type audience struct {
	*suite.Fixture
	cluster    *testkit.Cluster
	certs      string
	port       int
	run        *suite.Facade
	door       *door
	spectators []*spectator
	shaken     int
}

// newAudience opens a facade at an address of its own.
func newAudience(t *testing.T, own *testkit.Cluster) *audience {
	t.Helper()
	a := &audience{Fixture: suite.NewFixture(t, own), cluster: own, certs: t.TempDir(), door: newDoor()}
	a.open(t, a.facade(t))
	address, err := url.Parse(a.run.URL)
	if err != nil {
		t.Fatal(err)
	}
	if a.port, err = strconv.Atoi(address.Port()); err != nil {
		t.Fatal(err)
	}
	return a
}

// facade makes one for the audience's address.
func (a *audience) facade(t *testing.T) *suite.Facade {
	t.Helper()
	run := suite.NewFacade(t, a.cluster.Kubeconfigs["admin"], func(c *facade.Config) { c.Port, c.CertDir = a.port, a.certs })
	run.Wrap(a.door.before)
	return run
}

// balancer makes a server for the audience's address that passes requests on to two facades: lists, streaming ones included, to
// one, and other watches to the other. It ends as balancers do, and leaves nobody time.
func (a *audience) balancer(t *testing.T, watches, lists *suite.Facade) *suite.Facade {
	t.Helper()
	run := suite.NewFacade(t, a.cluster.Kubeconfigs["admin"], func(c *facade.Config) { c.Port, c.CertDir, c.ShutdownGrace = a.port, a.certs, 0 })
	run.Wrap(func(http.Handler) http.Handler {
		return a.door.before(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := lists
			if q := r.URL.Query(); q.Has("watch") && q.Get("sendInitialEvents") != "true" {
				to = watches
			}
			to.Handler().ServeHTTP(w, r)
		}))
	})
	return run
}

// open lets clients in at the audience's address.
func (a *audience) open(t *testing.T, run *suite.Facade) {
	t.Helper()
	run.Listen(t)
	run.AwaitReady(t)
	a.run = run
}

// admit starts the clients, and waits until they have synced.
func (a *audience) admit(t *testing.T, programs []program) {
	t.Helper()
	kubeconfig := testkit.WriteKubeconfig(t, a.run.Config)
	t.Cleanup(func() {
		if t.Failed() {
			a.door.print(t)
		}
	})
	for _, p := range programs {
		a.spectators = append(a.spectators, newSpectator(t, p, kubeconfig, a.Namespace))
	}
	for _, s := range a.spectators {
		s.syncs(t, manyObjects)
	}
	a.agree(t)
}

// agree waits until every client holds exactly what the upstream has; nobody writes meanwhile.
func (a *audience) agree(t *testing.T) {
	t.Helper()
	began := time.Now()
	want := a.Present(t, suite.ConfigMaps, metav1.ListOptions{})
	for _, s := range a.spectators {
		testkit.Eventually(t, clientPatience, s.name+" holds what the upstream has", func() error { return s.holds(want) })
		if wrong := s.errors(); len(wrong) > 0 {
			t.Fatalf("%s was told %d events that do not fit, as %s", s.name, len(wrong), wrong[0])
		}
	}
	t.Logf("all agree after %s", time.Since(began).Round(time.Millisecond))
}

// allWatch waits until every client watches.
func (a *audience) allWatch(t *testing.T) {
	t.Helper()
	for _, s := range a.spectators {
		testkit.Eventually(t, clientPatience, s.name+" watches", func() error {
			if a.door.watching(s.agent) == 0 {
				return errors.New("it does not")
			}
			return nil
		})
	}
}

// fill makes many small objects.
func (a *audience) fill(t *testing.T) {
	t.Helper()
	config := rest.CopyConfig(a.Config)
	config.ContentType = runtime.ContentTypeProtobuf // half the work
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(fillers)
	for i := range manyObjects {
		group.Go(func() error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: nameOf(i)}, Data: map[string]string{"value": "1"}}
			_, err := client.CoreV1().ConfigMaps(a.Namespace).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled in %s", time.Since(began).Round(time.Millisecond))
}

func nameOf(i int) string { return fmt.Sprintf("o%05d", i) }

// shake changes, deletes and creates some objects, other ones each time; some that are deleted come back.
func (a *audience) shake(t *testing.T) {
	t.Helper()
	const some = 10
	a.shaken++
	value := strconv.Itoa(a.shaken)
	for i := range some {
		changed, deleted, replaced := a.shaken*some+i, manyObjects/3+a.shaken*some+i, manyObjects*2/3+a.shaken*some+i
		a.Put(t, suite.ConfigMaps, nameOf(changed), "", value)
		a.Remove(t, suite.ConfigMaps, nameOf(deleted))
		a.Remove(t, suite.ConfigMaps, nameOf(replaced))
		a.Put(t, suite.ConfigMaps, nameOf(replaced), "", value)
		a.Put(t, suite.ConfigMaps, fmt.Sprintf("new-%s-%d", value, i), "", "1")
		a.Put(t, suite.ConfigMaps, fmt.Sprintf("new-%s-%d", value, i), "", "2")
	}
}
