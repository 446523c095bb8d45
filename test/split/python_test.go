package split

import (
	"os"
	"os/exec"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// program reads, watches and writes with the client library for Python.
const program = `
import sys
from kubernetes import client, config, watch
config.load_kube_config()
namespace, core = sys.argv[1], client.CoreV1Api()
seen = core.list_namespaced_config_map(namespace)
core.create_namespaced_config_map(namespace, {"metadata": {"name": "python"}})
for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version=seen.metadata.resource_version):
    if event["object"].metadata.name == "python":
        break
core.patch_namespaced_config_map("python", namespace, {"data": {"a": "b"}})
assert core.read_namespaced_config_map("python", namespace).data == {"a": "b"}
core.delete_namespaced_config_map("python", namespace)
assert "python" not in [o.metadata.name for o in core.list_namespaced_config_map(namespace).items]
`

// runPython runs the program.
func (s *site) runPython(t *testing.T, namespace string) {
	command := exec.CommandContext(t.Context(), suite.Python(t), "-c", program, namespace)
	command.Env = append(os.Environ(), "KUBECONFIG="+testkit.WriteKubeconfig(t, s.client(t, "python")))
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
