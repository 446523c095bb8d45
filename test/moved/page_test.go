package moved

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// The names in docs/clients.md that tests replace by their own.
const (
	pageURL   = "https://listfacade.listfacade-system.svc"
	pageFiles = "/etc/listfacade"
	pageToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// block is an indented block of a section of docs/clients.md. The first of a section has the number 0.
func block(t *testing.T, section string, number int) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/clients.md has no section %q", section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	blocks := regexp.MustCompile(`(?m)(?:^ {4,}.*\n)+`).FindAllString(rest, -1)
	if number >= len(blocks) {
		t.Fatalf("section %q has %d blocks", section, len(blocks))
	}
	indent := regexp.MustCompile(`^ +`).FindString(blocks[number])
	return strings.TrimPrefix(strings.ReplaceAll("\n"+blocks[number], "\n"+indent, "\n"), "\n")
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

// shell runs commands of the page in a directory, with the cluster's kubectl and a kubeconfig. It returns their output.
func shell(t *testing.T, cluster *testkit.Cluster, kubeconfig, dir, commands string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir(),
		"PATH="+filepath.Dir(cluster.Binaries["kubectl"])+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}
