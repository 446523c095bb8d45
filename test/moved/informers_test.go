package moved

import (
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Informers of the newest and of the oldest client-go that WrapConfig supports read from the facade only. While there
// is no facade, they keep their objects, and kube-apiserver receives no request. Later they receive what they have
// missed.
func TestInformersAreSplit(t *testing.T) {
	t.Parallel()
	modules := []string{"client-go-0.37", "client-go-0.30"}
	for _, module := range modules[:settings.Amount(1, len(modules))] {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			program := suite.Compiled(t, module)
			s := newServers(t)
			f := suite.NewFixture(t, s.cluster)
			f.Put(t, suite.ConfigMaps, "early", "", "")
			printed := suite.Launch(t, program, s.kubeconfig, f.Namespace, "", s.run.URL, s.run.Config.CAFile)
			awaitOutput(t, printed, "synced 2\n", 1) // with the ConfigMap kube-root-ca.crt
			f.Put(t, suite.ConfigMaps, "later", "", "")
			awaitOutput(t, printed, "add "+f.Namespace+"/later ", 1)
			s.run.Close(t)
			f.Put(t, suite.ConfigMaps, "missed", "", "")
			s.start(t)
			awaitOutput(t, printed, "add "+f.Namespace+"/missed ", 1)
			if got := s.kubeAPIServer.all(); len(got) > 0 {
				t.Errorf("kube-apiserver got %+v, want nothing", got)
			}
			s.wellSplit(t)
		})
	}
}
