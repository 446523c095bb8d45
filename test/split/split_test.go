package split

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/kubelet"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Programs work through the proxy, which they know by its address only: the control plane, kubectl, and a program in
// Python. No write reaches the facade, and no list or watch of a cached resource reaches kube-apiserver. Then no facade
// answers: no leadership is lost, and no write fails. When the facade is back, the control plane uses it again.
func TestProgramsThroughProxy(t *testing.T) {
	s := open(t)
	suite.StopComponents(t, s.cluster)
	kubelet.AddNode(t, s.admin, "only", kubelet.Start(t, echo))
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

// echo prints the arguments of a process and then what it reads.
func echo(_ context.Context, p kubelet.Process) error {
	_, err := fmt.Fprintf(p.Stdout, "ran %s\n", strings.Join(p.Command, " "))
	if err == nil && p.Stdin != nil {
		_, err = io.Copy(p.Stdout, p.Stdin)
	}
	return err
}
