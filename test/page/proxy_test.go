package page

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// An operator with a certificate or a token reaches the page through kubectl proxy, and sees the user of each request.
func TestPageThroughKubectlProxy(t *testing.T) {
	settings.Long(t)
	b := newBrowser(t)
	cluster := suite.Cluster(t)
	f := suite.StartDelegating(t, cluster)
	role, err := filepath.Abs(filepath.Join("..", "..", "deploy", "kubernetes", "base", "operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := testkit.NewKubectl(t, cluster.Binaries["kubectl"], admin)
	for _, args := range [][]string{
		{"apply", "-f", role}, {"create", "clusterrolebinding", "listfacade-operators", "--clusterrole", "listfacade-operator", "--user", "reader"},
	} {
		if said := kubectl.Run(t, args...); !strings.Contains(said, "exit code 0") {
			t.Fatal(said)
		}
	}
	reader, err := cluster.Config("reader")
	if err != nil {
		t.Fatal(err)
	}
	address := proxied(t, testkit.NewKubectl(t, cluster.Binaries["kubectl"], f.ConfigOf(reader)))
	testkit.Eventually(t, "the reader is authorized", func() error {
		answer := f.As(t, reader).Facade.MustAsk(t, testkit.Question{Path: "/debug/status?output=json"})
		if answer.Code != http.StatusOK {
			return fmt.Errorf("got %d %s", answer.Code, answer.Body)
		}
		return nil
	})
	p := b.open(t, address+"/debug/status?refresh=2", desktop)
	p.follow("#requests th:first-child a")
	if users := p.column("requests", 10); len(users) == 0 || users[0] != "reader" {
		t.Errorf("users: %q", users)
	}
	if limits := strings.Join(p.column("limits", 1), ", "); !strings.Contains(limits, "requests in flight") || !strings.Contains(limits, "open watches") {
		t.Errorf("limits: %s", limits)
	}
	p.quiet()
}

// proxied runs kubectl proxy as in docs/operating.md until the test ends, and returns its URL.
func proxied(t *testing.T, kubectl *testkit.Kubectl) string {
	t.Helper()
	lines := kubectl.Follow(t, "proxy", "--port", "0", "--accept-paths", "^/debug/status")
	select {
	case line := <-lines:
		return "http://" + regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	case <-time.After(suite.Patience):
		t.Fatal("kubectl proxy did not print its address")
		return ""
	}
}
