package suite

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// shared is the cluster of the tests of a package: one a process, whichever test asks first.
var shared = sync.OnceValues(func() (*testkit.Cluster, error) {
	cluster, err := testkit.StartCluster(context.Background(), sharedFlags...)
	if err == nil {
		started = cluster
	}
	return cluster, err
})

var (
	sharedFlags []string         // set by Main before any test runs
	started     *testkit.Cluster // the shared one; nil while there is none
)

// WithoutControllers is a flag of Main for a cluster of etcd and kube-apiserver alone. Nothing writes in it but tests,
// and it costs half as much as one with controllers, a scheduler and nodes.
const WithoutControllers = "--components=none"

// Main runs the tests of a package and then ends the cluster that they shared, if any asked for it. Flags are further
// ones of `devcluster up` for that cluster.
func Main(m *testing.M, flags ...string) int {
	sharedFlags = flags
	facade.LogLibraries(zap.NewNop())
	code := m.Run()
	if started != nil {
		started.Close()
	}
	return code
}

// Cluster is the real upstream that the tests of a package share.
func Cluster(t testing.TB) *testkit.Cluster {
	t.Helper()
	cluster, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}
