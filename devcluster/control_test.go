package devcluster_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/devcluster"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// testControl controls the servers through the control socket, like another process.
func testControl(t *testing.T, cluster *devcluster.Cluster) {
	post := poster(cluster.Info().Control)
	const server = "/processes/kube-apiserver/"

	t.Run("pause and continue", func(t *testing.T) {
		post(t, server+"pause", http.StatusOK)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) //pace: a paused server would answer in milliseconds
		defer cancel()
		if out, err := kubectlWithin(ctx, cluster, devcluster.Admin, "get", "--raw", "/readyz"); err == nil {
			t.Errorf("got %q from a paused server, want a timeout", out)
		}
		post(t, server+"pause", http.StatusConflict)
		post(t, server+"continue", http.StatusOK)
		waitUntilReady(t, cluster) // its connections to etcd may have been closed during the pause
	})
	t.Run("kill and start", func(t *testing.T) {
		before := cluster.Processes()["kube-apiserver"].PID
		if state := post(t, server+"kill", http.StatusOK)["kube-apiserver"].State; state != process.Stopped {
			t.Errorf("got state %s after kill", state)
		}
		post(t, server+"kill", http.StatusConflict)
		post(t, server+"start", http.StatusOK)
		must(t, cluster, devcluster.Admin, "get", "namespace", "team-a")
		if after := cluster.Processes()["kube-apiserver"].PID; after == before {
			t.Errorf("got the same process ID %d after the restart", after)
		}
	})
	t.Run("restart", func(t *testing.T) {
		post(t, "/processes/etcd/restart", http.StatusOK)
		waitUntilReady(t, cluster) // kube-apiserver reconnects to etcd
	})
	t.Run("unknown", func(t *testing.T) {
		post(t, "/processes/kubelet/kill", http.StatusNotFound)
		post(t, server+"explode", http.StatusNotFound)
	})
	t.Run("compact", func(t *testing.T) {
		old := listVersion(t, cluster, "/api/v1/namespaces")
		must(t, cluster, devcluster.Admin, "create", "configmap", "newer", "-n", "default")
		post(t, "/compact", http.StatusOK)
		// Events are not cached, so a list at an old version is read from etcd.
		out, err := kubectl(t, cluster, devcluster.Admin, "get", "--raw", "/api/v1/events?resourceVersionMatch=Exact&resourceVersion="+old)
		if err == nil || !strings.Contains(err.Error(), "too old") {
			t.Errorf("list at the compacted version %s: got %q, error %v", old, out, err)
		}
	})
	select {
	case err := <-cluster.Failed():
		t.Errorf("an intended exit was reported: %v", err)
	default:
	}
}

// listVersion returns the resourceVersion of a list of all objects of a resource.
func listVersion(t *testing.T, cluster *devcluster.Cluster, path string) string {
	t.Helper()
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal([]byte(must(t, cluster, devcluster.Admin, "get", "--raw", path)), &list); err != nil {
		t.Fatal(err)
	}
	return list.Metadata.ResourceVersion
}

// TestServerThatDoesNotStart looks for the reason in the error.
func TestServerThatDoesNotStart(t *testing.T) {
	_, err := devcluster.Start(t.Context(), devcluster.Options{Etcd: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") || !strings.Contains(err.Error(), "etcd.log") {
		t.Errorf("start of a failing server: got %v", err)
	}
}

// poster returns a function that posts to the control socket, wants a status, and decodes the processes.
func poster(socket string) func(*testing.T, string, int) map[string]process.Status {
	var dialer net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
	return func(t *testing.T, path string, want int) map[string]process.Status {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://devcluster"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != want {
			t.Fatalf("POST %s: %s, want %d", path, response.Status, want)
		}
		if want != http.StatusOK || path == "/compact" {
			return nil
		}
		var processes map[string]process.Status
		if err := json.NewDecoder(response.Body).Decode(&processes); err != nil {
			t.Fatal(err)
		}
		return processes
	}
}

// waitUntilReady waits until kube-apiserver is ready, which includes its connection to etcd.
func waitUntilReady(t *testing.T, cluster *devcluster.Cluster) {
	t.Helper()
	waitFor(t, "kube-apiserver to be ready", func() bool {
		_, err := kubectl(t, cluster, devcluster.Admin, "get", "--raw", "/readyz")
		return err == nil
	})
}

// waitFor waits until a condition is true.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited 2 minutes for %s", what)
		case <-again.C:
		}
	}
}
