package split

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// managers are two managers of controller-runtime with the same controller, each in a namespace: with the address of
// kube-apiserver, and with the proxy's.
type managers struct{ direct, proxied *suite.Fixture }

// startManagers starts the managers until the test ends, and waits until they lead.
func (s *site) startManagers(t *testing.T, leaders plane) *managers {
	t.Helper()
	program := suite.Compiled(t, "controller-runtime")
	m := &managers{suite.NewFixture(t, s.cluster), suite.NewFixture(t, s.cluster)}
	m.direct.DefineApplications(t)
	config := s.client(t, "manager")
	suite.Launch(t, program, testkit.WriteKubeconfig(t, config), m.proxied.Namespace)
	config.Host = s.cluster.Server
	suite.Launch(t, program, testkit.WriteKubeconfig(t, config), m.direct.Namespace)
	s.awaitLeader(t, leaders, types.NamespacedName{Namespace: m.proxied.Namespace, Name: "applications"})
	return m
}

// create creates an Application in each namespace. Both managers must run its pods and write the same status.
func (m *managers) create(t *testing.T, name string, pods int64) {
	t.Helper()
	m.direct.CreateApplication(t, name, pods)
	m.proxied.CreateApplication(t, name, pods)
	m.compare(t, name, pods)
}

// scale changes the number of pods.
func (m *managers) scale(t *testing.T, name string, pods int64) {
	t.Helper()
	for _, f := range []*suite.Fixture{m.direct, m.proxied} {
		f.Patch(t, suite.Applications, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, pods))
	}
	m.compare(t, name, pods)
}

func (m *managers) compare(t *testing.T, name string, pods int64) {
	t.Helper()
	if diff := cmp.Diff(m.direct.AwaitApplication(t, name, pods), m.proxied.AwaitApplication(t, name, pods)); diff != "" {
		t.Errorf("the status of %s (-kube-apiserver +proxy):\n%s", name, diff)
	}
}
