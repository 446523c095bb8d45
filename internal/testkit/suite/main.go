package suite

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// shared is the cluster of a package's tests. The first test that needs it starts it.
var shared = sync.OnceValues(func() (*testkit.Cluster, error) {
	cluster, err := testkit.StartCluster(context.Background(), sharedFlags...)
	if err == nil {
		started = cluster
	}
	return cluster, err
})

var (
	sharedFlags []string         // set by Main before any test runs
	started     *testkit.Cluster // the shared cluster; nil if not started
)

// WithoutControllers is a flag of Main for a cluster with only etcd and kube-apiserver, to which only tests write. Such
// a cluster needs half the resources of a cluster with controllers, a scheduler and nodes.
const WithoutControllers = "--components=none"

// Main runs the tests of a package and then ends their shared cluster, if a test started it. flags are flags of
// `devcluster up` for this cluster.
func Main(m *testing.M, flags ...string) int {
	sharedFlags = flags
	facade.LogLibraries(zap.NewNop())
	code := m.Run()
	if started != nil {
		started.Close()
	}
	return code
}

// Cluster returns the real upstream that the tests of a package share.
func Cluster(t testing.TB) *testkit.Cluster {
	t.Helper()
	cluster, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}
