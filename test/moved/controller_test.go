package moved

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// leases have the leader of test/clients/controller-runtime.
var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// A manager of controller-runtime reads through its cache from the facade, and writes to kube-apiserver. While there is
// no facade, it stays the leader and writes. Afterwards it continues.
func TestControllerRuntimeManagerIsSplit(t *testing.T) {
	t.Parallel()
	program := suite.Compiled(t, "controller-runtime")
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	f.DefineApplications(t)
	suite.Launch(t, program, s.kubeconfig, f.Namespace, s.run.URL, s.run.Config.CAFile)
	f.CreateApplication(t, "web", 2)
	f.AwaitApplication(t, "web", 2)

	s.run.Close(t)
	renewed := renewals(t, f)
	testkit.Eventually(t, "the leader renews its lease without a facade", func() error {
		if renewals(t, f) == renewed {
			return errNotYet
		}
		return nil
	})
	f.Patch(t, suite.Applications, "web", `{"spec":{"replicas":3}}`)
	s.start(t)
	f.AwaitApplication(t, "web", 3)
	s.wellSplit(t)
	for _, resource := range []string{suite.Applications.GroupResource().String(), "deployments.apps", "pods", "nodes"} {
		if s.facade.count("watch", resource) == 0 {
			t.Errorf("the facade got no watch of %s", resource)
		}
	}
	if n := leaders(t, f); n != 1 {
		t.Errorf("the lease was taken %d times, want 1", n)
	}
}

// renewals returns the time of the last renewal of the lease.
func renewals(t *testing.T, f *suite.Fixture) string {
	t.Helper()
	return leaseField(t, f, "renewTime").(string)
}

// leaders returns how often a program became the leader.
func leaders(t *testing.T, f *suite.Fixture) int64 {
	t.Helper()
	changes, _ := leaseField(t, f, "leaseTransitions").(int64)
	return changes + 1
}

func leaseField(t *testing.T, f *suite.Fixture, name string) any {
	t.Helper()
	lease, err := f.In(leases).Get(t.Context(), "applications", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := unstructured.NestedFieldNoCopy(lease.Object, "spec", name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
