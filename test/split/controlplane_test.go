package split

import (
	"errors"
	"fmt"
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

// leadership is the state of a component's lease.
type leadership struct {
	holder      string
	transitions int32
	renewed     metav1.MicroTime
}

// startControlPlane starts the components with only the proxy's address, waits until they lead, and returns how.
func (s *site) startControlPlane(t *testing.T) map[string]leadership {
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
	plane := map[string]leadership{}
	for _, name := range components {
		testkit.Eventually(t, name+" leads", func() error {
			is, err := s.leadership(t, name)
			plane[name] = is
			return err
		})
	}
	return plane
}

// leadership reads a component's lease from kube-apiserver.
func (s *site) leadership(t *testing.T, name string) (leadership, error) {
	lease, err := s.admin.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return leadership{}, err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil {
		return leadership{}, errors.New("the lease has no holder")
	}
	return leadership{*lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, *lease.Spec.RenewTime}, nil
}

// awaitWatches waits until both components watch at the facade.
func (s *site) awaitWatches(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the control plane watches at the facade", func() error {
		for _, name := range []string{"pods", "nodes", "replicasets"} {
			if n := s.facade.Watchers(name); n < len(components) {
				return fmt.Errorf("the facade serves %d watches of %s", n, name)
			}
		}
		return nil
	})
}

// interruptFacade lets no facade answer until both components have renewed their leases often enough. It writes all the
// time.
func (s *site) interruptFacade(t *testing.T, plane map[string]leadership, namespace string) {
	clients, err := kubernetes.NewForConfig(s.client(t, "writer"))
	if err != nil {
		t.Fatal(err)
	}
	s.reads.interrupt()
	defer s.reads.resume()
	writes, renewals := 0, map[string]int{}
	enough := settings.Amount(4, 30) // one in two seconds
	for last := plane; renewals[components[0]] < enough || renewals[components[1]] < enough; writes++ {
		write(t, clients, namespace, writes)
		now := map[string]leadership{}
		for _, name := range components {
			is, err := s.leadership(t, name)
			if err != nil || is.holder != plane[name].holder || is.transitions != plane[name].transitions {
				t.Fatalf("%s: got %+v, %v, want the holder %+v", name, is, err, plane[name])
			}
			if !is.renewed.Equal(new(last[name].renewed)) {
				renewals[name]++
			}
			now[name] = is
		}
		last = now
	}
	if refused := len(refusedBy(s.reads, namespace)); refused > 0 {
		t.Errorf("the facade answered %d requests", refused)
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
	for _, line := range c.lines() {
		if strings.Contains(line, namespace+"/configmaps/written-") {
			found = append(found, line)
		}
	}
	return found
}
