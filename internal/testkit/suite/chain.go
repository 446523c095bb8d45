package suite

import (
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// StartChain serves the cluster by facades in a row until the test ends, each with the same further settings: the first
// reads the cluster, every other the one before it. It returns them in that order.
func StartChain(t testing.TB, upstream *testkit.Cluster, length int, settings ...func(*facade.Config)) []*Facade {
	t.Helper()
	chain := []*Facade{StartFacade(t, upstream, settings...)}
	for len(chain) < length {
		chain = append(chain, StartBehind(t, chain[len(chain)-1], settings...))
	}
	return chain
}

// StartBehind serves a facade by another one until the test ends.
func StartBehind(t testing.TB, upstream *Facade, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchFacade(t, testkit.WriteKubeconfig(t, upstream.Config), settings...)
	f.AwaitReady(t)
	return f
}
