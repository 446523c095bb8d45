package suite

import (
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// StartChain starts a chain of facades with the same settings. The first facade reads from the cluster, each other
// facade from the facade before it. StartChain returns them in that order. They end with the test.
func StartChain(t testing.TB, upstream *testkit.Cluster, length int, settings ...func(*facade.Config)) []*Facade {
	t.Helper()
	chain := []*Facade{StartFacade(t, upstream, settings...)}
	for len(chain) < length {
		chain = append(chain, StartBehind(t, chain[len(chain)-1], settings...))
	}
	return chain
}

// StartBehind starts a facade that reads from another facade, until the test ends.
func StartBehind(t testing.TB, upstream *Facade, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchFacade(t, testkit.WriteKubeconfig(t, upstream.Config), settings...)
	f.AwaitReady(t)
	return f
}
