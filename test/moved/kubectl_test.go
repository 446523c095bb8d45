package moved

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// What kubectl does with a split configuration, each line with a word of the expected output.
var kubectlCommands = []struct{ args, want string }{
	{"create deployment web --image=web --replicas=2", "created"},
	{"rollout status deployment/web", "successfully rolled out"},
	{"wait --for=condition=Available deployment/web", "condition met"},
	{"get pods -A", "web-"},
	{"get deployment web -o yaml", "replicas: 2"},
	{"describe deployment web", "web"},
	{"scale deployment web --replicas=1", "scaled"},
	{"label deployment web a=b", "labeled"},
	{"patch deployment web --type=merge -p {\"spec\":{\"paused\":true}}", "patched"},
	{"set image deployment/web web=other", "image updated"},
	{"create secret generic s --from-literal=a=b", "created"},
	{"get secret s -o name", "secret/s"},
	{"auth can-i create pods", "yes"},
	{"explain pods.spec", "containers"},
	{"api-resources", "deployments"},
	{"delete deployment web --wait", "deleted"},
}

// kubectl with WrapConfig in its factory reads from the facade and writes to kube-apiserver.
func TestKubectlIsSplit(t *testing.T) {
	t.Parallel()
	program := suite.Compiled(t, "kubectl")
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	cache := t.TempDir()
	for _, line := range kubectlCommands {
		command := exec.CommandContext(t.Context(), program, append([]string{
			"--kubeconfig", s.kubeconfig, "--cache-dir", cache, "--namespace", f.Namespace,
		}, strings.Fields(line.args)...)...)
		command.Env = append(os.Environ(), "LISTFACADE_URL="+s.run.URL, "LISTFACADE_CA_FILE="+s.run.Config.CAFile)
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), line.want) {
			t.Fatalf("kubectl %s: got %v, want %q in\n%s", line.args, err, line.want, out)
		}
	}
	s.wellSplit(t)
	if s.facade.count("list", "pods") == 0 || s.kubeAPIServer.count("patch", "deployments.apps") == 0 {
		t.Error("nothing was counted")
	}
}
