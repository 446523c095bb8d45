package split

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// components are the programs of the control plane, each with a lease of its name.
var components = []string{suite.ControllerManager, suite.Scheduler}

// plane contains how the leaders of programs lead, by their leases.
type plane map[types.NamespacedName]leadership

// leadership is the state of a lease.
type leadership struct {
	holder      string
	transitions int32
	renewed     metav1.MicroTime
}

// startControlPlane starts the components with only the proxy's address, waits until they lead, and returns how.
func (s *site) startControlPlane(t *testing.T) plane {
	t.Helper()
	flags := map[string][]string{
		// No authority signs kubelet certificates, and no cloud has routes.
		suite.ControllerManager: {"--use-service-account-credentials=false", "--root-ca-file=" + s.cluster.CAFile},
	}
	for _, name := range components {
		kubeconfig := testkit.WriteKubeconfig(t, s.client(t, name))
		suite.StartComponent(t, s.cluster, name, append([]string{
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--leader-elect=true",
		}, flags[name]...)...)
	}
	leaders := plane{}
	for _, name := range components {
		s.awaitLeader(t, leaders, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: name})
	}
	return leaders
}

// awaitLeader waits until a lease has a holder, and adds it.
func (s *site) awaitLeader(t *testing.T, leaders plane, lease types.NamespacedName) {
	t.Helper()
	testkit.Eventually(t, lease.Name+" leads", func() error {
		is, err := s.leadership(t, lease)
		leaders[lease] = is
		return err
	})
}

// leadership reads a lease from kube-apiserver.
func (s *site) leadership(t *testing.T, key types.NamespacedName) (leadership, error) {
	lease, err := s.admin.CoordinationV1().Leases(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
	if err != nil {
		return leadership{}, err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil {
		return leadership{}, errors.New("the lease has no holder")
	}
	return leadership{*lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, *lease.Spec.RenewTime}, nil
}

// awaitWatches waits until the facade's cache serves watches of both components and of the manager of
// controller-runtime.
func (s *site) awaitWatches(t *testing.T) {
	t.Helper()
	all := len(components) + 1
	testkit.Eventually(t, "the leaders watch at the facade", func() error {
		for name, want := range map[string]int{"pods": all, "nodes": all, "replicasets": all, suite.Applications.Resource: 1} {
			if n := s.facade.Watchers(name); n < want {
				return fmt.Errorf("the facade serves %d watches of %s, want %d", n, name, want)
			}
		}
		return nil
	})
}

// interruptFacade lets no facade answer until all leaders have renewed their leases often enough. It writes all the
// time.
func (s *site) interruptFacade(t *testing.T, leaders plane, namespace string) {
	clients, err := kubernetes.NewForConfig(s.client(t, "writer"))
	if err != nil {
		t.Fatal(err)
	}
	s.reads.interrupt()
	defer s.reads.resume()
	last, renewals, writes := maps.Clone(leaders), map[string]int{}, 0
	enough := settings.Amount(4, 30) // one in two seconds
	for ; len(renewals) < len(leaders) || slices.Min(slices.Collect(maps.Values(renewals))) < enough; writes++ {
		write(t, clients, namespace, writes)
		for lease, began := range leaders {
			is, err := s.leadership(t, lease)
			if err != nil || is.holder != began.holder || is.transitions != began.transitions {
				t.Fatalf("%s: got %+v, %v, want the holder %+v", lease.Name, is, err, began)
			}
			if !is.renewed.Equal(new(last[lease].renewed)) {
				renewals[lease.Name]++
			}
			last[lease] = is
		}
	}
	if refused := refusedBy(s.reads, namespace); len(refused) > 0 {
		t.Errorf("the facade answered %q", refused)
	}
	t.Logf("%d writes, renewals: %v", writes, renewals)
}

// write creates, reads, changes and deletes an object. No request may fail.
func write(t *testing.T, clients kubernetes.Interface, namespace string, i int) {
	t.Helper()
	maps, name := clients.CoreV1().ConfigMaps(namespace), fmt.Sprintf("written-%d", i)
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err == nil {
		_, err = maps.Get(t.Context(), name, metav1.GetOptions{})
	}
	if err == nil {
		_, err = maps.Patch(t.Context(), name, types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
	}
	if err == nil {
		err = maps.Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatalf("write %d: %v", i, err)
	}
}

// refusedBy returns the reads of written objects that a counting server received.
func refusedBy(c *counted, namespace string) []string {
	var found []string
	for _, one := range c.all() {
		if strings.Contains(one.line, namespace+"/configmaps/written-") {
			found = append(found, one.line)
		}
	}
	return found
}
