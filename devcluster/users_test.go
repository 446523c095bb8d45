package devcluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/devcluster"
)

// TestMinimal shares one cluster of etcd and kube-apiserver among tests that do not change it.
func TestMinimal(t *testing.T) {
	long(t)
	cluster := start(t, devcluster.Options{})
	t.Run("rights", func(t *testing.T) { testRights(t, cluster) })
	t.Run("reader reads everything but secrets", func(t *testing.T) { testReaderReadsEverything(t, cluster) })
	t.Run("nonresource URLs", func(t *testing.T) {
		for _, user := range []string{devcluster.Reader, devcluster.Listfacade, devcluster.Alice} {
			for _, path := range []string{"/api", "/apis", "/apis/apps/v1", "/openapi/v3", "/version", "/readyz"} {
				must(t, cluster, user, "get", "--raw", path)
			}
		}
	})
	t.Run("version", func(t *testing.T) {
		if out := must(t, cluster, devcluster.Alice, "version"); !strings.Contains(out, "Server Version: v1.37.1") {
			t.Errorf("kubectl version printed %q", out)
		}
	})
	t.Run("pods without controllers", func(t *testing.T) {
		must(t, cluster, devcluster.Admin, "run", "lonely", "--image=registry.example/x:1", "-n", "default")
	})
	t.Run("control", func(t *testing.T) { testControl(t, cluster) })
}

func testRights(t *testing.T, cluster *devcluster.Cluster) {
	for _, c := range []struct {
		user    string
		may     bool
		request []string
	}{
		{devcluster.Alice, true, []string{"get", "pods", "-n", "team-a"}},
		{devcluster.Alice, true, []string{"get", "deployments.apps", "-n", "team-a"}},
		{devcluster.Alice, false, []string{"get", "pods", "-n", "default"}},
		{devcluster.Alice, false, []string{"get", "pods", "-A"}},
		{devcluster.Alice, false, []string{"get", "secrets", "-n", "team-a"}},
		{devcluster.Alice, false, []string{"get", "nodes"}},
		{devcluster.Alice, false, []string{"create", "configmap", "x", "-n", "team-a"}},
		{devcluster.Node, true, []string{"get", "pods", "-A", "--field-selector=spec.nodeName=node-0"}},
		{devcluster.Node, false, []string{"get", "pods", "-A", "--field-selector=spec.nodeName=node-1"}},
		{devcluster.Node, false, []string{"get", "pods", "-A"}},
		{devcluster.Node, true, []string{"get", "services", "-A"}},
		{devcluster.Reader, true, []string{"get", "pods", "-A"}},
		{devcluster.Reader, false, []string{"get", "secrets", "-n", "team-a"}},
		{devcluster.Reader, false, []string{"delete", "namespace", "team-a"}},
		{devcluster.Listfacade, true, []string{"get", "configmap", "extension-apiserver-authentication", "-n", "kube-system"}},
		{devcluster.Listfacade, false, []string{"get", "secrets", "-A"}},
		{devcluster.Admin, true, []string{"get", "secrets", "-A"}},
	} {
		t.Run(c.user+" "+strings.Join(c.request, " "), func(t *testing.T) {
			_, err := kubectl(t, cluster, c.user, c.request...)
			switch {
			case c.may && err != nil:
				t.Errorf("refused: %v", err)
			case !c.may && err == nil:
				t.Error("allowed")
			case !c.may && !strings.Contains(strings.ToLower(err.Error()), "forbidden"):
				t.Errorf("got %v, want Forbidden", err)
			}
		})
	}
}

// testReaderReadsEverything compares the rules in manifests/users.yaml with the resources of the server.
func testReaderReadsEverything(t *testing.T, cluster *devcluster.Cluster) {
	lines := must(t, cluster, devcluster.Admin, "api-resources", "--verbs=list", "-o", "name")
	resources := strings.Fields(lines)
	if len(resources) < 50 || !slices.Contains(resources, "secrets") {
		t.Fatalf("the server offers %v", resources)
	}
	others := slices.DeleteFunc(resources, func(r string) bool { return r == "secrets" })
	if _, err := kubectl(t, cluster, devcluster.Reader, "get", strings.Join(others, ","), "-A", "-o", "name"); err != nil {
		t.Errorf("reader may not list everything:\n%v", err)
	}
}
