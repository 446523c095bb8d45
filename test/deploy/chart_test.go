package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// chartDir is the directory of the chart, relative to this package.
var chartDir = filepath.Join("..", "..", "deploy", "chart", "listfacade")

// everyValue sets all values of the chart that add or change objects.
const everyValue = `
image: {registry: registry.example.com/platform, digest: "sha256:` + zeros + `", pullSecrets: [{name: pull}]}
memory: 3Gi
cpu: "1"
preload: [pods, deployments.apps]
preloadEncodings: [json, protobuf]
journal: {enabled: true, size: 24Gi}
config: {journalMaxBytes: 20Gi, historyBytes: 1073741824, idleTimeout: 1h, resources: [{resource: leases.coordination.k8s.io, cached: false}]}
extraArgs: [--log-level=debug]
service: {type: LoadBalancer, trafficDistribution: PreferSameZone, annotations: {a: b}}
autoscaling: {enabled: true}
networkPolicy: {apiServerCIDRs: [10.0.0.1/32], clients: [{namespaceSelector: {}}]}
topologySpreadConstraints: []
priorityClassName: system-cluster-critical
nodeSelector: {a: b}
tolerations: [{operator: Exists}]
affinity: {podAntiAffinity: {}}
podAnnotations: {x: "1"}
podMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, source: "https://git.example.com/listfacade"}
dashboard: {enabled: true}
`

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// render renders the chart with values. It fails if rendering does.
func render(t testing.TB, values string) manifests {
	t.Helper()
	out, err := tryRender(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, bytes.TrimPrefix(out, []byte("---\n")))
}

func tryRender(t testing.TB, values string) ([]byte, error) {
	t.Helper()
	program := filepath.Join(suite.Programs, "chart")
	if _, err := os.Stat(program); err != nil {
		suite.MayMiss(t, "the program that renders the chart is not compiled")
		t.Skip("the program that renders the chart is not compiled: `make chart` does it")
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, chartDir, file).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = errors.New(string(exit.Stderr))
	}
	return out, err
}

// charts are the values with which the chart has the objects of a kustomization.
var charts = map[string]string{
	"overlays/authority":   "",
	"overlays/certificate": "certificate: {secretName: listfacade-serving}",
	"overlays/journal":     "journal: {enabled: true}",
	"overlays/impersonate": "certificate: {secretName: listfacade-serving}\nimpersonate: {enabled: true}",
}

// The chart has the same objects as the kustomizations, except for the namespace, labels and what helm needs.
func TestChartHasTheObjectsOfKustomizations(t *testing.T) {
	cluster := suite.Cluster(t)
	for name, values := range charts {
		want, got := compared(t, build(t, cluster, name)), compared(t, render(t, values))
		delete(want, "Namespace /listfacade-system") // helm --create-namespace
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-kustomization +chart):\n%s", name, diff)
		}
	}
}

// With split.enabled, the chart adds the objects of the splitting proxy's kustomization.
func TestChartHasTheObjectsOfSplit(t *testing.T) {
	want := build(t, suite.Cluster(t), splitOverlay)
	without, got := render(t, ""), render(t, "split: {enabled: true}")
	name := func(object unstructured.Unstructured) string {
		if object.GetKind() == "ConfigMap" {
			return "ConfigMap listfacade-split" // kustomize adds a hash
		}
		return object.GetKind() + " " + object.GetName()
	}
	if added := len(got.objects) - len(without.objects); added != len(want.objects) {
		t.Errorf("got %d more objects, want %d", added, len(want.objects))
	}
	for _, object := range want.objects {
		at := slices.IndexFunc(got.objects, func(one unstructured.Unstructured) bool {
			return one.GetKind() == object.GetKind() && strings.HasPrefix(object.GetName(), one.GetName()) && strings.HasPrefix(one.GetName(), "listfacade-split")
		})
		if at < 0 {
			t.Errorf("the chart has no %s", name(object))
			continue
		}
		if namespace := got.objects[at].GetNamespace(); namespace != object.GetNamespace() {
			t.Errorf("%s: got the namespace %q, want %q", name(object), namespace, object.GetNamespace())
		}
		if diff := cmp.Diff(ofSplit(object), ofSplit(got.objects[at])); diff != "" {
			t.Errorf("%s (-kustomization +chart):\n%s", name(object), diff)
		}
	}
	own := render(t, "split: {enabled: true, secretName: proxy}\ncertificate: {secretName: mine}")
	own.objects = slices.DeleteFunc(own.objects, func(o unstructured.Unstructured) bool { return o.GetName() != "listfacade-split" })
	pod := splitDeployment(t, own).Spec.Template.Spec
	for _, volume := range pod.Volumes {
		switch volume.Name {
		case "authorities":
			if source := volume.Projected.Sources[1].Secret; source == nil || source.Name != "mine" {
				t.Errorf("got the facade's authority from %+v, want the Secret of its certificate", volume.Projected.Sources[1])
			}
		case "authority":
			if volume.Secret.SecretName != "proxy" {
				t.Errorf("got the Secret %s with the proxy's certificate, want proxy", volume.Secret.SecretName)
			}
		}
	}
	args := strings.Join(pod.Containers[0].Args, " ")
	if strings.Contains(args, "--tls-authority-dir") || !strings.Contains(args, "/tls.crt") || !strings.Contains(args, "/tls.key") {
		t.Errorf("got the arguments %s, want a certificate in files", args)
	}
}

// ofSplit returns what kustomize and helm must have in common in an object of the splitting proxy.
func ofSplit(object unstructured.Unstructured) map[string]any {
	content := object.DeepCopy().Object
	if object.GetKind() != "Deployment" {
		delete(content, "metadata")
		return content
	}
	template, _, _ := unstructured.NestedMap(content, "spec", "template")
	unstructured.RemoveNestedField(template, "metadata", "annotations", "checksum/rules")
	pod := template["spec"].(map[string]any)
	delete(pod["containers"].([]any)[0].(map[string]any), "imagePullPolicy")
	for _, volume := range pod["volumes"].([]any) {
		if source, ok := volume.(map[string]any)["configMap"].(map[string]any); ok {
			source["name"] = "listfacade-split"
		}
	}
	return template
}

// compared returns the objects by kind and name, without what differs between kustomize and helm: labels, the order of
// volumes, the hash in the name of a ConfigMap or in an annotation, and the pull policy.
func compared(t *testing.T, m manifests) map[string]any {
	t.Helper()
	all := map[string]any{}
	settings := ""
	for _, object := range m.objects {
		if name := object.GetName(); object.GetKind() == "ConfigMap" && strings.HasPrefix(name, "listfacade-") && object.Object["data"] != nil {
			settings = name
			object.SetName("listfacade")
		}
		labels := object.GetLabels()
		for key := range labels {
			if strings.HasPrefix(key, "app.kubernetes.io/") || strings.HasPrefix(key, "helm.sh/") {
				delete(labels, key)
			}
		}
		if object.SetLabels(labels); len(labels) == 0 {
			object.SetLabels(nil)
		}
		key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		if all[key] != nil {
			t.Errorf("got %s twice", key)
		}
		all[key] = object.Object
	}
	template, _, _ := unstructured.NestedMap(all["Deployment listfacade-system/listfacade"].(map[string]any), "spec", "template")
	unstructured.RemoveNestedField(template, "metadata", "annotations", "checksum/settings")
	pod := template["spec"].(map[string]any)
	delete(pod["containers"].([]any)[0].(map[string]any), "imagePullPolicy")
	volumes := pod["volumes"].([]any)
	slices.SortFunc(volumes, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
	for _, volume := range volumes {
		if source, ok := volume.(map[string]any)["configMap"].(map[string]any); ok && source["name"] == settings {
			source["name"] = "listfacade"
		}
	}
	_ = unstructured.SetNestedMap(all["Deployment listfacade-system/listfacade"].(map[string]any), template, "spec", "template")
	return all
}

// kube-apiserver accepts the objects of the chart with all values, without a warning.
func TestChartIsAccepted(t *testing.T) {
	acceptsChart(t, suite.Cluster(t), everyValue+"impersonate: {enabled: true}\nsplit: {enabled: true, rules: {gets: kube-apiserver}}")
}

// The supported older releases accept the chart, too. They have no constrained impersonation.
func TestOlderReleasesAcceptTheChart(t *testing.T) {
	settings.Long(t)
	for release, zone := range map[string]string{"1.30": "PreferClose", "1.34": "PreferSameZone"} {
		t.Run(release, func(t *testing.T) {
			own, err := testkit.StartCluster(t.Context(), "--release="+release, suite.WithoutControllers)
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			acceptsChart(t, own, strings.Replace(everyValue, "PreferSameZone", zone, 1))
			acceptsChart(t, own, "")
		})
	}
}

func acceptsChart(t *testing.T, cluster *testkit.Cluster, values string) {
	t.Helper()
	kubectl(t, cluster, nil, "apply", "--server-side", "-f", filepath.Join(manifestsDir, "base", "namespace.yaml"))
	kubectl(t, cluster, knownTo(t, render(t, values)), "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
}

// knownTo returns the objects without those of the Prometheus operator, whose definitions the cluster has not.
func knownTo(t *testing.T, m manifests) []byte {
	t.Helper()
	var known bytes.Buffer
	for _, object := range m.objects {
		if object.GroupVersionKind().Group == "monitoring.coreos.com" {
			continue
		}
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		known.Write(text)
		known.WriteByte('\n')
	}
	return known.Bytes()
}

// Values change the objects as they say.
func TestChartValues(t *testing.T) {
	m := render(t, everyValue)
	deployment := of[appsv1.Deployment](t, m, "Deployment")[0]
	pod, container := deployment.Spec.Template.Spec, facadeContainer(t, m)
	if want := "registry.example.com/platform/listfacade@sha256:" + zeros; container.Image != want {
		t.Errorf("got image %s, want %s", container.Image, want)
	}
	if deployment.Spec.Replicas != nil {
		t.Errorf("got %d replicas with autoscaling, want none", *deployment.Spec.Replicas)
	}
	if got := container.Env[0].Value; got != "2764MiB" || container.Resources.Limits.Memory().String() != "3Gi" { // 9/10
		t.Errorf("got GOMEMLIMIT %s of %s, want 2764MiB of 3Gi", got, container.Resources.Limits.Memory())
	}
	if !slices.Contains(container.Args, "--log-level=debug") || len(pod.TopologySpreadConstraints) != 0 || pod.PriorityClassName == "" {
		t.Errorf("got arguments %v, constraints %v and priority %q", container.Args, pod.TopologySpreadConstraints, pod.PriorityClassName)
	}
	files := map[string]string{}
	for _, found := range of[corev1.ConfigMap](t, m, "ConfigMap") {
		if found.Name == "listfacade" {
			files = found.Data
		}
	}
	for file, want := range map[string]string{
		"80-preload.yaml": "deployments.apps", "90-config.yaml": "historyBytes: 1073741824\n", "50-authority.yaml": "listfacade-system/listfacade-authority",
	} {
		if !strings.Contains(files[file], want) {
			t.Errorf("got %s %q, want %q in it", file, files[file], want)
		}
	}
	text := string(knownTo(t, m))
	for _, want := range []string{`"trafficDistribution":"PreferSameZone"`, `"cidr":"10.0.0.1/32"`, "HorizontalPodAutoscaler", "grafana_dashboard"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %s", want)
		}
	}
	for _, object := range m.objects {
		text, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "PrometheusRule" && !strings.Contains(string(text), `"https://git.example.com/listfacade/docs/runbook.md#listfacadedown"`) {
			t.Error("got no link to the runbook at the source")
		}
		if object.GetKind() == "PodMonitor" && !strings.Contains(string(text), `"configMap":{"key":"ca.crt","name":"listfacade-authority"}`) {
			t.Errorf("got a PodMonitor that does not trust the authority: %s", text)
		}
	}
}

// helm refuses unknown values and values of a wrong type before it installs anything, and says which.
func TestChartRefusesValues(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: two":                                "at '/replicas': got string, want integer",
		"replicas: 0":                                  "/replicas",
		"memory: 2":                                    "at '/memory': got number, want string",
		"memory: 2G":                                   "at '/memory': '2G' does not match",
		"image: {regstry: x}":                          "at '/image': additional properties 'regstry' not allowed",
		"replica: 2":                                   "additional properties 'replica' not allowed",
		"config: {preloads: [pods]}":                   "at '/config': additional properties 'preloads' not allowed",
		"config: {securePort: https}":                  "at '/config/securePort': got string, want integer",
		"config: {requestTimeout: soon}":               "at '/config/requestTimeout'",
		"preload: pods":                                "at '/preload': got string, want array",
		"preloadEncodings: [yaml]":                     "at '/preloadEncodings/0'",
		"certificate: {secretName: true}":              "at '/certificate/secretName': got boolean, want string",
		"service: {trafficDistribution: Near}":         "at '/service/trafficDistribution'",
		"autoscaling: {enabled: true, minReplicas: 9}": "autoscaling: minReplicas is greater than maxReplicas",
		"extraArgs: [log-level=debug]":                 "at '/extraArgs/0'",
	} {
		if out, err := tryRender(t, values); err == nil || !strings.Contains(err.Error(), want) || len(out) > 0 {
			t.Errorf("%s: got error %v and %d bytes of objects, want %q and no objects", values, err, len(out), want)
		}
	}
}
