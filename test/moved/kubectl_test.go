package moved

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
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
	k := splitKubectl{program, s.kubeconfig, s.run.URL, s.run.Config.CAFile, t.TempDir()}
	for _, line := range kubectlCommands {
		out, err := k.run(t, "--namespace "+f.Namespace+" "+line.args)
		if err != nil || !strings.Contains(out, line.want) {
			t.Fatalf("kubectl %s: got %v, want %q in\n%s", line.args, err, line.want, out)
		}
	}
	s.wellSplit(t)
	if s.facade.count("list", "pods") == 0 || s.kubeAPIServer.count("patch", "deployments.apps") == 0 {
		t.Error("nothing was counted")
	}
}

// kubectl says what to do if the facade has another authority than WrapConfig, or the token another audience.
func TestSplitKubectlExplainsRefusals(t *testing.T) {
	t.Parallel()
	program := suite.Compiled(t, "kubectl")
	s := newServers(t)
	other := s.cluster.ConfigWithToken(s.cluster.Token(t, metav1.NamespaceDefault, administratorAccount,
		testkit.TokenOptions{Audiences: []string{"elsewhere"}}))
	for _, test := range []struct {
		k    splitKubectl
		want string
	}{
		{
			splitKubectl{program, s.kubeconfig, s.run.URL, s.cluster.CAFile, t.TempDir()},
			"the CA certificates in WrapConfig must contain",
		},
		{
			splitKubectl{program, testkit.WriteKubeconfig(t, other), s.run.URL, s.run.Config.CAFile, t.TempDir()},
			"refused the credentials: use those of kube-apiserver",
		},
	} {
		facade := strings.TrimPrefix(s.run.URL, "https://")
		if out, err := test.k.run(t, "get pods"); err == nil || !strings.Contains(out, test.want) || !strings.Contains(out, "facade "+facade) {
			t.Errorf("got %v, want %q in\n%s", err, test.want, out)
		}
	}
}

// splitKubectl is the program of test/clients/kubectl with its files and the URL of the facade.
type splitKubectl struct{ program, kubeconfig, facade, caFile, cache string }

// run runs a command, and returns its output.
func (k splitKubectl) run(t *testing.T, args string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), k.program, append([]string{
		"--kubeconfig", k.kubeconfig, "--cache-dir", k.cache,
	}, strings.Fields(args)...)...)
	command.Env = append(os.Environ(), "LISTFACADE_URL="+k.facade, "LISTFACADE_CA_FILE="+k.caFile)
	out, err := command.CombinedOutput()
	return string(out), err
}
