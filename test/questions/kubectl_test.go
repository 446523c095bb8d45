package questions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

func newKubectls(t *testing.T) (*testkit.Kubectls, *rest.Config) {
	t.Helper()
	return kubectlsOf(t, suite.Cluster(t).Binaries["kubectl"])
}

func kubectlsOf(t *testing.T, binary string) (*testkit.Kubectls, *rest.Config) {
	t.Helper()
	cluster := suite.Furnished(t)
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	return &testkit.Kubectls{
		Upstream: testkit.NewKubectl(t, binary, config),
		Facade:   testkit.NewKubectl(t, binary, suite.StartFacade(t, cluster).Config),
	}, config
}

// everyKind returns the names of all kinds in kubectl's preferred versions, for "kubectl get".
func everyKind(t *testing.T) string {
	t.Helper()
	var names []string
	for _, kind := range fixturesOf(t) {
		name := kind.Resource
		if kind.Group != "" {
			name += "." + kind.Group
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// plainCommands has one command for each kind of kubectl's requests.
var plainCommands = []string{
	"get clusterroles", "get pods -n oracle-b beta", "get pods -A --sort-by=.metadata.name -o custom-columns=N:.metadata.name,P:.status.phase",
	"get pods -A --field-selector spec.nodeName=node-1 -o wide", "get nodes --sort-by=.metadata.resourceVersion -L kubernetes.io/os",
	"get wd -A -o wide", "get widgets -A --field-selector spec.color=red", "get widgets.v1.ex.io alpha -n oracle -o jsonpath={.spec}",
	"get all -A", "get cm -A --limit=1", "get secret alpha -n oracle -o yaml", "get cm,svc -n oracle --server-print=false",
	"get cm missing", "get nothing", "get cm --field-selector spec.x=y", "get cm -l a==b==c", "get deploy alpha beta -n oracle",
	"get clusterroles --chunk-size=5", "describe pods -n oracle", "describe widgets -A", "describe secrets -n oracle",
	"explain widgets.ex.io --recursive", "explain nothing", "api-resources", "api-versions", "version", "get --raw /apis/ex.io/v1", "get --raw /nowhere",
	"get --raw /apis/apps/v1/namespaces/oracle/deployments/alpha/scale", "events -n oracle", "rollout status deployment/alpha -n oracle",
	"wait --for=jsonpath={.spec.color}=blue widgets.ex.io/alpha -n oracle", "logs alpha -n oracle --container missing",
}

// furtherCommands sends the same kinds of requests for other objects.
var furtherCommands = []string{
	"get flowschemas", "get componentstatuses etcd-0", "get storageclasses", "get widgets -n oracle", "get things -A", "get gadgets.v1beta1.ex.io",
	"get secrets -A", "get pods -n nowhere", "get endpoints -n oracle", "get pods.v2 -A", "get events -n oracle", "get events.v1.events.k8s.io -n oracle",
	"describe nodes node-1", "describe deployments,statefulsets,daemonsets -n oracle", "describe services,endpointslices,ingresses -n oracle",
	"describe pv oracle-1", "describe pvc -n oracle", "describe quota,limits -n oracle", "describe hpa,jobs,cronjobs -n oracle-b", "describe crd widgets.ex.io",
	"explain pods.spec.containers", "explain widgets.ex.io.spec.color", "explain deployments --api-version=apps/v1", "api-resources -o wide --sort-by=name",
	"api-resources --namespaced=false --api-group=ex.io", "version -o yaml", "get --raw /", "get --raw /version", "get --raw /apis", "get --raw /openapi/v3",
	"get --raw /api/v1/namespaces/oracle/pods/alpha/status", "wait --for=delete cm/missing -n oracle --timeout=5s", "rollout history deployment/beta -n oracle-b",
}

func TestKubectl(t *testing.T) {
	t.Parallel()
	kubectls, _ := newKubectls(t)
	commands := plainCommands
	if !testing.Short() {
		commands = slices.Concat(plainCommands, furtherCommands)
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) { kubectls.Compare(t, strings.Fields(command)...) })
	}
}

// TestKubectlEveryKind gets every kind in one command. That takes longer than a second, so ages are masked.
func TestKubectlEveryKind(t *testing.T) {
	t.Parallel()
	kubectls, _ := newKubectls(t)
	every := everyKind(t)
	all := []string{
		"-A -o wide", "-n oracle -o json --show-managed-fields", "-A --chunk-size=5 -o name -l oracle",
		"-A --show-labels -l oracle", "-A -l oracle=one -o yaml", "-n oracle --no-headers --field-selector metadata.name=alpha",
	}
	for _, flags := range all[:settings.Amount(1, len(all))] {
		t.Run(flags, func(t *testing.T) {
			kubectls.CompareMasked(t, maskAges, append([]string{"get", every}, strings.Fields(flags)...)...)
		})
	}
}

var age = regexp.MustCompile(`\b\d+[smhd](\d+[smh])?\b`)

// maskAges hides ages, and the width of the columns, which depends on them.
func maskAges(text string) string {
	lines := strings.Split(age.ReplaceAllString(text, "AGE"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// follower is one watching command for both servers.
type follower struct{ upstream, facade <-chan string }

// Pairs of watching commands print the creation, two changes and the deletion of an object.
func TestKubectlWatches(t *testing.T) {
	kubectls, config := newKubectls(t)
	followWidgets(t, kubectls, config)
}

func followWidgets(t *testing.T, kubectls *testkit.Kubectls, config *rest.Config) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	widgets := client.Resource(schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"}).Namespace(suite.FirstNamespace)
	followers := map[string]follower{}
	for _, command := range []string{
		"-n oracle -w", "-A -o wide -w -l oracle", "-A -o name -w", "-n oracle -o yaml -w -l oracle=three", "-n oracle -w --output-watch-events",
		"-A -w --field-selector spec.color=green --output-watch-events", "-n oracle --watch-only -o custom-columns=N:.metadata.name,C:.spec.color",
	} {
		args := append([]string{"get", "widgets.ex.io"}, strings.Fields(command)...)
		followers[command] = follower{upstream: kubectls.Upstream.Follow(t, args...), facade: kubectls.Facade.Follow(t, args...)}
	}
	for command, f := range followers {
		awaitWatching(t, command, widgets, f.upstream)
		awaitWatching(t, command, widgets, f.facade)
	}
	for _, step := range [][2]string{{"watched", "green"}, {"watched", "black"}, {"watched", "green"}, {"watched", ""}, {"last", "green"}} {
		paint(t, widgets, step[0], step[1])
	}
	for command, f := range followers {
		t.Run(command, func(t *testing.T) {
			want, got := followed(t, f.upstream), followed(t, f.facade)
			if !slices.Equal(want, got) || len(want) < 3 {
				t.Errorf("upstream:\n%s\nfacade:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
			}
		})
	}
	paint(t, widgets, "last", "") // it is to appear in the next test, too
}

// paint creates or changes a widget, or deletes it if the color is empty.
func paint(t *testing.T, widgets dynamic.ResourceInterface, name, color string) {
	t.Helper()
	var err error
	if color == "" {
		err = widgets.Delete(t.Context(), name, metav1.DeleteOptions{})
	} else {
		patch := fmt.Sprintf(`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":%q,"labels":{"oracle":"three"}},"spec":{"color":%q}}`, name, color)
		_, err = widgets.Patch(t.Context(), name, types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test", Force: new(bool)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awaitWatching paints a widget until a follower prints it.
func awaitWatching(t *testing.T, command string, widgets dynamic.ResourceInterface, lines <-chan string) {
	t.Helper()
	colors := []string{"green", ""}
	deadline := time.After(suite.Patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("kubectl get widgets.ex.io %s ended", command)
			}
			if strings.Contains(line, "poke") {
				return
			}
		case <-tick.C:
			paint(t, widgets, "poke", colors[0])
			slices.Reverse(colors)
		case <-deadline:
			t.Fatalf("kubectl get widgets.ex.io %s prints nothing", command)
		}
	}
}

// followed returns a follower's output about the watched widget, with masked ages.
func followed(t *testing.T, lines <-chan string) []string {
	t.Helper()
	var all []string
	began := false
	deadline := time.After(suite.Patience)
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("ended after %q", all)
			}
			if strings.Contains(line, "last") {
				return all
			}
			began = began || strings.Contains(line, "watched")
			if began {
				all = append(all, maskAges(line))
			}
		case <-deadline:
			t.Fatalf("no end after %q", all)
		}
	}
}
