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

// manifestsDir is the directory of the manifests, seen from here.
var manifestsDir = filepath.Join("..", "..", "deploy", "kubernetes")

// kustomizations are what a reader may apply, each a whole deployment.
var kustomizations = []string{"base", "overlays/certificate", "overlays/impersonate"}

// manifests are the objects of a kustomization.
type manifests struct {
	yaml    []byte
	objects []unstructured.Unstructured
}

// build has kubectl put a kustomization together.
func build(t testing.TB, cluster *testkit.Cluster, name string) manifests {
	t.Helper()
	var m manifests
	m.yaml = kubectl(t, cluster, nil, "kustomize", filepath.Join(manifestsDir, name))
	for document := range bytes.SplitSeq(m.yaml, []byte("\n---\n")) {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		m.objects = append(m.objects, object)
	}
	return m
}

// kubectl runs the cluster's kubectl as its administrator. It may print nothing on stderr, where warnings go.
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

// of are the objects of a kind.
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

// kube-apiserver takes every manifest without a warning; one would say that pods are not as restricted as the namespace
// wants them, or that a version is deprecated.
func TestManifestsAreAccepted(t *testing.T) {
	cluster := suite.Cluster(t)
	kubectl(t, cluster, nil, "apply", "--server-side", "-f", filepath.Join(manifestsDir, "base", "namespace.yaml"))
	for _, name := range kustomizations {
		t.Run(name, func(t *testing.T) {
			kubectl(t, cluster, build(t, cluster, name).yaml, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
		})
	}
}

// TestGracePeriodCoversShutdown: a pod is not killed before its process has ended in order.
func TestGracePeriodCoversShutdown(t *testing.T) {
	c := facade.Defaults()
	ending := map[string]time.Duration{
		"shutdownDelayDuration": c.ShutdownDelay, "shutdownWatchTerminationGracePeriod": c.WatchTermination,
		"shutdownGracePeriod": c.ShutdownGrace, "shutdownSnapshotPeriod": c.SnapshotPeriod,
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

// The garbage collector is told nine tenths of what the kernel allows.
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

// unread are what is served and the facade has no right to: what must not be kept.
var unread = []string{"secrets"}

// What the facade may read is what kube-apiserver 1.37 has to watch, without wildcards and without secrets.
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
			t.Errorf("%s: granted is %t", name, granted[name])
		}
		delete(granted, name)
	}
	for name := range granted {
		t.Errorf("%s is granted and cannot be watched", name)
	}
}

// The facade may act as somebody only to get, list and watch, and nothing below a resource but its status and scale: by
// a GET of the rest one runs commands and reaches into the cluster's network.
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
			t.Errorf("%s cannot be read in a caller's name", name)
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

// names are the resources of a rule as kubectl calls them.
func names(rule rbacv1.PolicyRule) []string {
	var all []string
	for _, group := range rule.APIGroups {
		for _, name := range rule.Resources {
			all = append(all, strings.TrimSuffix(name+"."+group, "."))
		}
	}
	return all
}

// served are the paths of the built-in resources that have a verb, by how kubectl calls them.
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
