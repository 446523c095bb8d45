package identities

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestKubectl runs commands as users of tokens and certificates, with both servers. A short run executes each common
// command as one of the users only.
func TestKubectl(t *testing.T) {
	w, f := newFacade(t)
	binary := w.Binaries["kubectl"]
	kubectls := func(t *testing.T, who *rest.Config) *testkit.Kubectls {
		t.Helper()
		return &testkit.Kubectls{Upstream: testkit.NewKubectl(t, binary, who), Facade: testkit.NewKubectl(t, binary, f.ConfigOf(who))}
	}
	commands := []string{
		"get cm -n oracle", "get cm -n oracle-b", "get cm -A", "get cm named -n oracle -o yaml", "get cm canary -n oracle-b", "get pods -n oracle -o wide",
		"get widgets -n oracle", "get nothing -n oracle", "get nodes", "get all -n oracle", "describe cm named -n oracle", "describe pods alpha -n oracle",
		"describe deployments -n oracle", "auth whoami", "auth whoami -o yaml", "auth can-i list cm -n oracle", "auth can-i list cm -A",
		"auth can-i get cm/named -n oracle", "auth can-i delete pods -n oracle", "auth can-i get /version", "auth can-i list pods --subresource=log -n oracle",
		"api-resources --api-group=ex.io", "version", "get --raw /api/v1/namespaces/oracle-b/configmaps",
	}
	users := []string{"robot", "nick", "nadia"}
	for turn, name := range users {
		t.Run(name, func(t *testing.T) {
			k := kubectls(t, w.identities[name].config)
			for i, command := range commands {
				if !testing.Short() || i%len(users) == turn {
					k.CompareMasked(t, maskTimes, strings.Fields(command)...)
				}
			}
			if name != "robot" {
				return
			}
			for _, command := range []string{
				"auth can-i --list -n oracle", "get secrets -n oracle", "describe secrets canary -n oracle", "logs alpha -n oracle --container other",
			} {
				k.CompareMasked(t, maskTimes, strings.Fields(command)...)
			}
		})
	}
}

// maskTimes removes lines with creation times.
func maskTimes(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "creationTimestamp") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestKubectlWatches follows config maps as both users, until a change arrives.
func TestKubectlWatches(t *testing.T) {
	w, f := newFacade(t)
	s := suite.NewFixture(t, w.Cluster)
	for name, who := range map[string]*rest.Config{"token": w.readerToken(t), "certificate": w.user(t, "reader")} {
		t.Run(name, func(t *testing.T) {
			var follow []<-chan string
			for _, config := range []*rest.Config{who, f.ConfigOf(who)} {
				k := testkit.NewKubectl(t, w.Binaries["kubectl"], config)
				follow = append(follow, k.Follow(t, "get", "cm", "-n", s.Namespace, "-l", "followed="+name, "-w", "-o", "custom-columns=N:.metadata.name,V:.data.value", "--no-headers"))
			}
			s.Put(t, suite.ConfigMaps, "followed-"+name, "followed="+name, "one")
			for _, lines := range follow {
				if line := <-lines; strings.Join(strings.Fields(line), " ") != "followed-"+name+" one" {
					t.Errorf("got line %q", line)
				}
			}
			s.Put(t, suite.ConfigMaps, "followed-"+name, "followed="+name, "two")
			for _, lines := range follow {
				if line := <-lines; strings.Join(strings.Fields(line), " ") != "followed-"+name+" two" {
					t.Errorf("got line %q", line)
				}
			}
		})
	}
}

// readerToken returns the configuration of a service account that may read everything except Secrets.
func (w *world) readerToken(t *testing.T) *rest.Config {
	t.Helper()
	return w.ConfigWithToken(w.Token(t, suite.FirstNamespace, "all-reader", testkit.TokenOptions{}))
}
