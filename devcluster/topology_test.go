package devcluster_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/listfacade/listfacade/devcluster"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// TestTopology starts two kube-apiservers and two etcds.
func TestTopology(t *testing.T) {
	long(t)
	cluster := start(t, devcluster.Options{APIServers: 2, SeparateEtcd: []string{"events", "coordination.k8s.io/leases"}})
	info := cluster.Info()
	second := info.Servers["kube-apiserver-2"]
	if info.Servers["kube-apiserver"] != info.Server || second == "" || second == info.Server {
		t.Fatalf("the servers are %v, the first is %s", info.Servers, info.Server)
	}
	if len(info.Processes) != 4 {
		t.Errorf("the processes are %v", info.Processes)
	}
	t.Run("both serve the same", func(t *testing.T) {
		must(t, cluster, devcluster.Admin, "--server", second, "create", "configmap", "shared", "-n", "default")
		must(t, cluster, devcluster.Admin, "get", "configmap", "shared", "-n", "default")
	})
	t.Run("two revisions", func(t *testing.T) {
		// A new cluster has written hundreds of objects into its etcd, and hardly any into the other one.
		most := revision(t, cluster, "/api/v1/namespaces")
		for _, path := range []string{"/api/v1/events", "/apis/coordination.k8s.io/v1/leases"} {
			if apart := revision(t, cluster, path); apart*2 > most {
				t.Errorf("%s is at revision %d, namespaces are at %d", path, apart, most)
			}
		}
	})
	t.Run("control by name", func(t *testing.T) {
		post := poster(info.Control)
		if state := post(t, "/processes/kube-apiserver-2/kill", http.StatusOK)["kube-apiserver-2"].State; state != process.Stopped {
			t.Errorf("got state %s of the second server after kill", state)
		}
		must(t, cluster, devcluster.Admin, "get", "--raw", "/readyz")
		post(t, "/processes/kube-apiserver-2/start", http.StatusOK)
		must(t, cluster, devcluster.Admin, "--server", second, "get", "--raw", "/readyz")
		post(t, "/processes/etcd-2/pause", http.StatusOK)
		post(t, "/processes/etcd-2/continue", http.StatusOK)
	})
}

// revision returns the revision of the etcd that stores a collection.
func revision(t *testing.T, cluster *devcluster.Cluster, path string) int {
	t.Helper()
	n, err := strconv.Atoi(listVersion(t, cluster, path))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
