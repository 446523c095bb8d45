package devcluster_test

import (
	"strings"
	"testing"

	"github.com/listfacade/listfacade/devcluster"
)

// TestFull runs every component and creates the demo objects.
func TestFull(t *testing.T) {
	long(t)
	cluster := start(t, devcluster.Options{Components: devcluster.AllComponents(), Nodes: 2, Demo: devcluster.WithDemo})

	must(t, cluster, devcluster.Admin, "wait", "--for=condition=Ready", "node/node-0", "node/node-1", "--timeout=2m")
	waitFor(t, "nodes that take pods", func() bool {
		return must(t, cluster, devcluster.Admin, "get", "nodes", "-o", "jsonpath={.items[*].spec.taints}") == ""
	})
	// Pods that were scheduled while there was only one node are deleted. Their replacements are spread over both nodes.
	must(t, cluster, devcluster.Admin, "delete", "pod", "-n", "team-a", "-l", "app=shop", "--timeout=2m")
	must(t, cluster, devcluster.Admin, "rollout", "status", "deployment/shop", "-n", "team-a", "--timeout=2m")
	pods := must(t, cluster, devcluster.Alice, "get", "pods", "-n", "team-a", "-l", "app=shop", "-o",
		`jsonpath={range .items[*]}{.status.phase} {.spec.nodeName} {.status.podIP}{"\n"}{end}`)
	addresses := make(map[string]bool)
	for line := range strings.Lines(pods) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "Running" {
			t.Errorf("a pod of the deployment is %q", line)
			continue
		}
		addresses[fields[2]] = true
	}
	if len(addresses) != 6 {
		t.Errorf("6 pods have %d addresses:\n%s", len(addresses), pods)
	}
	for _, node := range []string{"node-0", "node-1"} {
		if !strings.Contains(pods, node) {
			t.Errorf("no pod runs on %s:\n%s", node, pods)
		}
	}
	must(t, cluster, devcluster.Admin, "wait", "--for=condition=Complete", "job/stocktaking", "-n", "team-a", "--timeout=2m")
	red := must(t, cluster, devcluster.Reader, "get", "widgets", "-A", "--field-selector=spec.color=red", "-o", "name")
	if strings.Join(strings.Fields(red), " ") != "widget.ex.io/cog widget.ex.io/spring" {
		t.Errorf("the red widgets are %q", red)
	}
	must(t, cluster, devcluster.Admin, "delete", "pod", "-n", "team-a", "-l", "app=shop", "--timeout=2m")
}
