package deploy

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// manifestsDir is the directory of the manifests, relative to this package.
var manifestsDir = filepath.Join("..", "..", "deploy", "kubernetes")

// kustomizations are the kustomizations of deploy/kubernetes with a facade, each complete. The base has no certificate
// for clients.
var kustomizations = []string{"base", "overlays/authority", "overlays/certificate", "overlays/impersonate", "overlays/journal"}

// splitOverlay is the kustomization with the splitting proxy, which is applied in addition to another one.
const splitOverlay = "overlays/split"

// manifests contains the objects of a kustomization or of the chart.
type manifests struct {
	yaml    []byte
	objects []unstructured.Unstructured
}

// build builds a kustomization with kubectl.
func build(t testing.TB, cluster *testkit.Cluster, name string) manifests {
	t.Helper()
	return parse(t, kubectl(t, cluster, nil, "kustomize", filepath.Join(manifestsDir, name)))
}

// parse parses YAML documents.
func parse(t testing.TB, text []byte) manifests {
	t.Helper()
	m := manifests{yaml: text}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		m.objects = append(m.objects, object)
	}
	return m
}

// kubectl runs the cluster's kubectl as its administrator. It must print nothing on stderr, so any warning fails.
func kubectl(t testing.TB, cluster *testkit.Cluster, stdin []byte, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), cluster.Binaries["kubectl"], append([]string{"--kubeconfig", cluster.Kubeconfigs["admin"]}, args...)...)
	command.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// of returns the objects of a kind.
func of[T any](t testing.TB, m manifests, kind string) []T {
	t.Helper()
	var found []T
	for _, object := range m.objects {
		if object.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		found = append(found, typed)
	}
	return found
}

// kube-apiserver accepts every manifest without a warning, for example about Pod Security or a deprecated version.
func TestManifestsAreAccepted(t *testing.T) {
	cluster := suite.Cluster(t)
	kubectl(t, cluster, nil, "apply", "--server-side", "-f", filepath.Join(manifestsDir, "base", "namespace.yaml"))
	for _, name := range append(slices.Clone(kustomizations), splitOverlay) {
		t.Run(name, func(t *testing.T) {
			kubectl(t, cluster, build(t, cluster, name).yaml, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
		})
	}
}

// A pod's grace period is long enough for a complete shutdown.
func TestGracePeriodCoversShutdown(t *testing.T) {
	c := facade.Defaults()
	ending := map[string]time.Duration{
		"shutdownDelayDuration": c.ShutdownDelay, "shutdownWatchTerminationGracePeriod": c.WatchTermination,
		"shutdownGracePeriod": c.ShutdownGrace,
	}
	for _, name := range kustomizations {
		m := build(t, suite.Cluster(t), name)
		settings := of[corev1.ConfigMap](t, m, "ConfigMap")[0].Data
		total := time.Duration(0)
		for key, value := range ending {
			total += value
			for file, text := range settings {
				if strings.Contains(text, key+":") {
					t.Errorf("%s: %s sets %s, want the default", name, file, key)
				}
			}
		}
		grace := of[appsv1.Deployment](t, m, "Deployment")[0].Spec.Template.Spec.TerminationGracePeriodSeconds
		if grace == nil || time.Duration(*grace)*time.Second < total {
			t.Errorf("%s: got terminationGracePeriodSeconds %v, want at least %v", name, grace, total)
		}
	}
}

// GOMEMLIMIT is nine tenths of the container's memory limit.
func TestMemoryLimitIsBelowContainerLimit(t *testing.T) {
	container := facadeContainer(t, build(t, suite.Cluster(t), "base"))
	limit := container.Resources.Limits.Memory()
	told := resource.MustParse(strings.TrimSuffix(container.Env[0].Value, "B"))
	if container.Env[0].Name != "GOMEMLIMIT" || told.Value()>>20 != limit.Value()*9/10>>20 {
		t.Errorf("GOMEMLIMIT is %s, the limit %s", &told, limit)
	}
	if request := container.Resources.Requests.Memory(); request.Cmp(*limit) != 0 {
		t.Errorf("%s are requested of %s", request, limit)
	}
}

func facadeContainer(t testing.TB, m manifests) corev1.Container {
	t.Helper()
	deployments := of[appsv1.Deployment](t, m, "Deployment")
	if len(deployments) != 1 || len(deployments[0].Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("there are %d deployments", len(deployments))
	}
	return deployments[0].Spec.Template.Spec.Containers[0]
}

// unread are the served resources that the facade must not cache, and has no right to.
var unread = []string{"secrets"}

// The facade may read all watchable resources of kube-apiserver 1.37, without wildcards and without Secrets.
func TestReaderRoleCoversWatchedResources(t *testing.T) {
	cluster := suite.Cluster(t)
	granted := map[string]bool{}
	for _, role := range of[rbacv1.ClusterRole](t, build(t, cluster, "base"), "ClusterRole") {
		for _, rule := range role.Rules {
			if want := []string{"get", "list", "watch"}; len(rule.Resources) > 0 && !slices.Equal(rule.Verbs, want) {
				t.Errorf("%s has the verbs %q", role.Name, rule.Verbs)
			}
			for _, name := range names(rule) {
				granted[name] = true
			}
		}
	}
	watched := served(t, cluster, "watch")
	for name := range watched {
		if granted[name] == slices.Contains(unread, name) {
			t.Errorf("%s: got granted %t", name, granted[name])
		}
		delete(granted, name)
	}
	for name := range granted {
		t.Errorf("%s is granted, but cannot be watched", name)
	}
}

// The facade may impersonate users only for get, list and watch, and of subresources only status and scale. A GET of
// other subresources runs commands, or opens connections into the cluster's network.
func TestImpersonatorMayOnlyRead(t *testing.T) {
	cluster := suite.Cluster(t)
	granted := map[string]bool{}
	for _, role := range of[rbacv1.ClusterRole](t, build(t, cluster, "overlays/impersonate"), "ClusterRole") {
		if role.Labels["listfacade.io/aggregate-to-impersonator"] == "" {
			continue
		}
		for _, rule := range role.Rules {
			checkImpersonation(t, rule)
			for _, name := range names(rule) {
				granted[name] = true
			}
		}
	}
	for name := range served(t, cluster, "list") {
		if !granted[name] {
			t.Errorf("%s cannot be read by impersonation", name)
		}
	}
}

func checkImpersonation(t *testing.T, rule rbacv1.PolicyRule) {
	t.Helper()
	for _, verb := range rule.Verbs {
		if verb == "impersonate" || verb == "*" {
			t.Errorf("unconstrained: %+v", rule)
		}
		if strings.HasSuffix(verb, ":create") && !slices.Equal(rule.Resources, []string{"selfsubjectrulesreviews"}) {
			t.Errorf("%s of %q", verb, rule.Resources)
		}
	}
	for _, name := range rule.Resources {
		_, sub, deep := strings.Cut(name, "/")
		if name == "*" || deep && sub != "status" && sub != "scale" && !strings.HasPrefix(name, "userextras/") {
			t.Errorf("%s is granted", name)
		}
	}
}

// names returns the resources of a rule by their names in kubectl.
func names(rule rbacv1.PolicyRule) []string {
	var all []string
	for _, group := range rule.APIGroups {
		for _, name := range rule.Resources {
			all = append(all, strings.TrimSuffix(name+"."+group, "."))
		}
	}
	return all
}

// served returns the paths of the built-in resources with a verb, by their names in kubectl.
func served(t testing.TB, cluster *testkit.Cluster, verb string) map[string]string {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, ".k8s.io") {
			continue // custom resources, of fixtures
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, verb) {
				all[strings.TrimSuffix(r.Name+"."+gv.Group, ".")] = suite.Collection(gv.WithResource(r.Name), "")
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %v have the verb %s", all, verb)
	}
	return all
}
