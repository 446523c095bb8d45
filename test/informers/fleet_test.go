package informers

import (
	"errors"
	"fmt"
	"net/http"
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
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// fillers is the number of concurrent writers of ConfigMaps.
const fillers = 16

// manyObjects returns the number of ConfigMaps at the beginning.
func manyObjects() int { return settings.Amount(1100, 10_000) }

// fleet is an address with its server, and the informers that use the address.
type fleet struct {
	*suite.Fixture
	cluster   *testkit.Cluster
	certs     string
	port      int
	run       *suite.Facade
	log       *requestLog
	informers []*informer
	changes   int // how often changes were made
	others    int // how many objects of other resources there are
}

// newFleet starts a facade at a new address.
func newFleet(t *testing.T, own *testkit.Cluster) *fleet {
	t.Helper()
	f := &fleet{Fixture: suite.NewFixture(t, own), cluster: own, certs: t.TempDir(), port: suite.FreePort(t), log: newRequestLog()}
	f.open(t, f.facade(t))
	return f
}

// facade returns a facade for the fleet's address.
func (f *fleet) facade(t *testing.T, settings ...func(*facade.Config)) *suite.Facade {
	t.Helper()
	here := func(c *facade.Config) { c.Port, c.CertDir = f.port, f.certs }
	run := suite.NewFacade(t, suite.FacadeKubeconfig(t, f.cluster), append(settings, suite.Unpacked, here)...)
	run.Wrap(f.log.around)
	return run
}

// balancer returns a server for the fleet's address that forwards to two facades: lists and streaming lists to one, and
// other watches to the other. It ends without a grace period.
func (f *fleet) balancer(t *testing.T, watches, lists *suite.Facade) *suite.Facade {
	t.Helper()
	run := suite.NewFacade(t, suite.FacadeKubeconfig(t, f.cluster), func(c *facade.Config) { c.Port, c.CertDir, c.ShutdownGrace = f.port, f.certs, 0 })
	run.Wrap(func(http.Handler) http.Handler {
		return f.log.around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := lists
			if q := r.URL.Query(); q.Has("watch") && q.Get("sendInitialEvents") != "true" {
				to = watches
			}
			to.Handler().ServeHTTP(w, r)
		}))
	})
	return run
}

// open accepts connections at the fleet's address.
func (f *fleet) open(t *testing.T, run *suite.Facade) {
	t.Helper()
	run.Listen(t)
	run.AwaitReady(t)
	f.run = run
}

// startInformers starts the programs, and waits until they have synced.
func (f *fleet) startInformers(t *testing.T, programs []program) {
	t.Helper()
	kubeconfig := testkit.WriteKubeconfig(t, f.run.Config)
	t.Cleanup(func() {
		if t.Failed() {
			f.log.print(t)
		}
	})
	for _, p := range programs {
		f.informers = append(f.informers, startInformer(t, p, kubeconfig, f.Namespace))
	}
	for _, s := range f.informers {
		s.syncs(t, manyObjects())
	}
	f.agree(t)
}

// agree waits until every client has exactly the upstream's objects. The caller does not write meanwhile.
func (f *fleet) agree(t *testing.T) {
	t.Helper()
	began := time.Now()
	want := f.Present(t, suite.ConfigMaps, metav1.ListOptions{})
	for _, s := range f.informers {
		testkit.Eventually(t, s.name+" has the upstream's objects", func() error { return s.holds(want) })
		if wrong := s.errors(); len(wrong) > 0 {
			t.Fatalf("%s received %d wrong events, for example %s", s.name, len(wrong), wrong[0])
		}
	}
	t.Logf("all agree after %s", time.Since(began).Round(time.Millisecond))
}

// allWatch waits until every client watches.
func (f *fleet) allWatch(t *testing.T) {
	t.Helper()
	for _, s := range f.informers {
		testkit.Eventually(t, s.name+" watches", func() error {
			if f.log.watching(s.agent) == 0 {
				return errors.New("it has no watch")
			}
			return nil
		})
	}
}

// fill creates many small objects.
func (f *fleet) fill(t *testing.T) {
	t.Helper()
	config := rest.CopyConfig(f.Config)
	config.ContentType = runtime.ContentTypeProtobuf // half the work
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(fillers)
	for i := range manyObjects() {
		group.Go(func() error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: nameOf(i)}, Data: map[string]string{"value": "1"}}
			_, err := client.CoreV1().ConfigMaps(f.Namespace).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled in %s", time.Since(began).Round(time.Millisecond))
}

func nameOf(i int) string { return fmt.Sprintf("o%05d", i) }

// change changes, deletes and creates objects, different ones each time. Some deleted objects are created again.
func (f *fleet) change(t *testing.T) {
	t.Helper()
	const some = 10
	f.changes++
	value := strconv.Itoa(f.changes)
	for i := range some {
		changed, deleted, replaced := f.changes*some+i, manyObjects()/3+f.changes*some+i, manyObjects()*2/3+f.changes*some+i
		f.Put(t, suite.ConfigMaps, nameOf(changed), "", value)
		f.Remove(t, suite.ConfigMaps, nameOf(deleted))
		f.Remove(t, suite.ConfigMaps, nameOf(replaced))
		f.Put(t, suite.ConfigMaps, nameOf(replaced), "", value)
		f.Put(t, suite.ConfigMaps, fmt.Sprintf("new-%s-%d", value, i), "", "1")
		f.Put(t, suite.ConfigMaps, fmt.Sprintf("new-%s-%d", value, i), "", "2")
	}
}
