package moved

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
)

// The names in docs/clients.md that tests replace by their own.
const (
	pageURL   = "https://listfacade.listfacade-system.svc"
	pageFiles = "/etc/listfacade"
	pageToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// block returns a block of a section of docs/clients.md. The first of a section has the number 0.
func block(t *testing.T, section string, number int) string {
	t.Helper()
	return document.Text(t, document.Clients, section, number)
}

// files returns a directory in place of /etc/listfacade, and a replacer of the page's names. The directory has the
// authority of the facade, and the page's kubeconfig.
func (s *servers) files(t *testing.T) (dir string, own *strings.Replacer) {
	t.Helper()
	dir = t.TempDir()
	ca, err := os.ReadFile(s.run.Config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	own = strings.NewReplacer(pageURL, s.run.URL, pageFiles, dir, pageToken, token)
	for name, text := range map[string]string{
		"ca.crt": string(ca), "token": administrator(t, s.cluster),
		"kubeconfig": own.Replace(block(t, "A kubeconfig for programs that read", 0)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, own
}

// shell returns a shell for commands of the page, with the cluster's kubectl and a kubeconfig.
func shell(t *testing.T, cluster *testkit.Cluster, kubeconfig string) *document.Shell {
	t.Helper()
	return document.NewShell(t, kubeconfig, filepath.Dir(cluster.Binaries["kubectl"]))
}
