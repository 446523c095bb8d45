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

// Programs work through the proxy, which they know by its address only: the control plane, kubectl, a program in
// Python, kube-state-metrics, the discovery of Prometheus, and a manager of controller-runtime. No write reaches the
// facade, and no list or watch of a cached resource reaches kube-apiserver. Then no facade answers: no leadership is
// lost, and no write fails. When the facade is back, the leaders use it again.
func TestProgramsThroughProxy(t *testing.T) {
	s := open(t)
	suite.StopComponents(t, s.cluster)
	kubelet.AddNode(t, s.admin, "only", kubelet.Start(t, echo))
	leaders := s.startControlPlane(t)
	fixture := suite.NewFixture(t, s.cluster)
	k := &kubectl{testkit.NewKubectl(t, s.cluster.Binaries["kubectl"], s.client(t, "kubectl")), fixture.Namespace}
	manager := s.startManagers(t, leaders)
	for _, program := range []struct {
		agent, resource string // of a watch that the facade must receive
		run             func(t *testing.T)
	}{
		{"kubectl", "configmaps", k.useAllVerbs},
		{"OpenAPI-Generator", "configmaps", func(t *testing.T) { s.runPython(t, fixture.Namespace) }}, // Python
		{"kube-state-metrics", "pods", func(t *testing.T) { s.compare(t, k, "state-metrics", startStateMetrics) }},
		{"Prometheus", "endpointslices", func(t *testing.T) { s.compare(t, k, "prometheus", startPrometheus) }},
		{"controller-runtime", "nodes", func(t *testing.T) { manager.create(t, "web", 2); manager.scale(t, "web", 3) }},
		{suite.ControllerManager, "pods", s.awaitWatches},
		{suite.Scheduler, "pods", s.awaitWatches},
	} {
		t.Run(program.agent, func(t *testing.T) {
			program.run(t)
			s.checkTargets(t, program.agent, program.resource)
		})
	}
	t.Run("without facades", func(t *testing.T) { s.interruptFacade(t, leaders, fixture.Namespace) })
	k.deploy(t, "after")
	manager.scale(t, "web", 1)
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
