package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The documented command installs the chart of a release with helm, and helm uninstall removes all objects.
func TestHelmInstallsAndUninstalls(t *testing.T) {
	settings.Long(t)
	helm, err := filepath.Abs(filepath.Join(suite.Programs, "helm"))
	if err == nil {
		_, err = os.Stat(helm)
	}
	if err != nil {
		suite.MayMiss(t, "helm is not compiled")
		t.Skip("helm is not compiled: `make helm` does it")
	}
	own, err := testkit.StartCluster(t.Context(), suite.WithoutControllers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	// The directory of helm contains another kubectl, of test/clients.
	shell := document.NewShell(t, own.Kubeconfigs["admin"], filepath.Dir(own.Binaries["kubectl"]), filepath.Dir(helm))
	shell.Dir = releaseOf(t, testkit.Program(t))
	charts, err := filepath.Glob(filepath.Join(shell.Dir, "listfacade-*.tgz"))
	if err != nil || len(charts) != 1 {
		t.Fatalf("got the charts %q, %v, want one", charts, err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "listfacade-"), ".tgz")
	shell.Env = append(shell.Env, "VERSION="+version, "MINE=mine")
	values := "memory: 3Gi\npreload: [pods]\njournal: {enabled: true}\nsplit: {enabled: true}\n"
	if err := os.WriteFile(filepath.Join(shell.Dir, "mine.yaml"), []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	installsWithHelm(t, shell, strings.TrimSpace(document.Text(t, "docs/deploying.md", "With helm", 0)))
}

// installsWithHelm installs the chart, removes it, and then asks for a dry run, because kube-apiserver refuses objects
// of a missing namespace.
func installsWithHelm(t *testing.T, shell *document.Shell, command string) {
	t.Helper()
	shell.Run(t, command)
	shell.Run(t, "helm get manifest listfacade --namespace listfacade-system > installed.yaml")
	installed := shell.Run(t, "kubectl get -f installed.yaml -o name")
	for _, want := range []string{"deployment.apps/listfacade\n", "deployment.apps/listfacade-split\n", "clusterrole.rbac.authorization.k8s.io/listfacade-reader\n"} {
		if !strings.Contains(installed, want) {
			t.Errorf("got\n%s\nwant %s", installed, want)
		}
	}
	shell.Run(t, "helm uninstall listfacade --namespace listfacade-system")
	testkit.Eventually(t, "all objects are removed", func() error {
		_, err := shell.Try(t, `test -z "$(kubectl get -f installed.yaml --ignore-not-found -o name | tee /dev/stderr)"`)
		return err
	})
	shell.Run(t, command+" --dry-run=server")
}
