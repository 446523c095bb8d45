package split

import (
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Programs work through the proxy, which they know by its address only: the control plane, kubectl, and a program in
// Python. No write reaches the facade, and no list or watch of a cached resource reaches kube-apiserver. Then no facade
// answers: no leadership is lost, and no write fails. When the facade is back, the control plane uses it again.
func TestProgramsThroughProxy(t *testing.T) {
	s := open(t)
	suite.StopComponents(t, s.cluster)
	s.addNode(t, "only", startKubelet(t))
	plane := s.startControlPlane(t)
	fixture := suite.NewFixture(t, s.cluster)
	k := &kubectl{testkit.NewKubectl(t, s.cluster.Binaries["kubectl"], s.client(t, "kubectl")), fixture.Namespace}
	t.Run("kubectl", func(t *testing.T) { k.useAllVerbs(t) })
	t.Run("python", func(t *testing.T) { s.runPython(t, fixture.Namespace) })
	s.awaitWatches(t)
	checkTargets(t, s.reads, s.apiServer)
	t.Run("without facades", func(t *testing.T) { s.interruptFacade(t, plane, fixture.Namespace) })
	k.deploy(t, "after")
	s.awaitWatches(t)
}
