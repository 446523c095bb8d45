package deploy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// monitoringDir is the directory of the monitoring manifests, relative to the other manifests.
const monitoringDir = "../monitoring"

// The PodMonitor matches the Deployment, and Prometheus' account may read the paths that it scrapes.
func TestMonitoringManifests(t *testing.T) {
	cluster := deployed(t)
	m := build(t, cluster, monitoringDir)
	known := manifests{}
	for _, object := range m.objects {
		if object.GroupVersionKind().Group != "monitoring.coreos.com" { // whose definitions the cluster has not
			known.objects = append(known.objects, object)
		}
	}
	if len(m.objects)-len(known.objects) != 3 {
		t.Fatalf("%d objects, of which the cluster knows %d", len(m.objects), len(known.objects))
	}
	for _, object := range known.objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		kubectl(t, cluster, text, "apply", "--server-side", "--validate=strict", "-f", "-")
	}
	var paths []string
	container := facadeContainer(t, build(t, cluster, "overlays/certificate"))
	for _, object := range m.objects {
		switch object.GetName() {
		case "listfacade-split":
			scrapesSplit(t, object.Object, splitDeployment(t, build(t, cluster, splitOverlay)).Spec.Template)
		case account:
			if object.GetKind() != "PodMonitor" {
				continue
			}
			paths = scraped(t, object.Object, container.Ports[0].Name, documentedSecret(t, cluster))
		}
	}
	role := of[rbacv1.ClusterRole](t, m, "ClusterRole")[0]
	if diff := cmp.Diff(role.Rules[0].NonResourceURLs, paths); diff != "" {
		t.Errorf("(-allowed +scraped) %s", diff)
	}
	file, err := os.ReadFile(filepath.Join(manifestsDir, monitoringDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if of[corev1.ConfigMap](t, m, "ConfigMap")[0].Data["dashboard.json"] != string(file) {
		t.Error("the ConfigMap has another dashboard")
	}
}

// documentedSecret returns the Secret of docs/deploying.md, after kube-apiserver has accepted it.
func documentedSecret(t *testing.T, cluster *testkit.Cluster) (secret corev1.Secret) {
	t.Helper()
	commands := document.Commands(document.Text(t, "docs/deploying.md", "In the cluster that it reads", 0))
	args, pair := strings.Fields(commands[len(commands)-1]), testkit.NewAuthority(t, "serving").Certify(t, testkit.Certificate{User: account})
	dir := t.TempDir()
	for name, data := range map[string][]byte{"tls.crt": pair.CertData, "tls.key": pair.KeyData, "ca.crt": pair.CertData} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "="+name, "="+filepath.Join(dir, name))
		}
	}
	made := kubectl(t, cluster, nil, append(args[1:], "--dry-run=server", "--output=yaml")...)
	if err := yaml.UnmarshalStrict(made, &secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// scrapesSplit checks that the PodMonitor of the splitting proxy selects its pods, and a port of theirs.
func scrapesSplit(t *testing.T, monitor map[string]any, pod corev1.PodTemplateSpec) {
	t.Helper()
	labels, _, _ := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	for name, value := range labels {
		if pod.Labels[name] != value {
			t.Errorf("the PodMonitor selects the label %s=%s, but the pods have %v", name, value, pod.Labels)
		}
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor, "spec", "podMetricsEndpoints")
	ports := pod.Spec.Containers[0].Ports
	if len(labels) == 0 || len(endpoints) != 1 || !slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool {
		return p.Name == endpoints[0].(map[string]any)["port"]
	}) {
		t.Errorf("the PodMonitor selects %v and scrapes %v, want one of the ports %v", labels, endpoints, ports)
	}
}

// scraped returns the paths of a PodMonitor. It checks the port, and that the certificate is the overlay's.
func scraped(t *testing.T, object map[string]any, port string, serving corev1.Secret) (paths []string) {
	t.Helper()
	var monitor struct {
		Spec struct {
			Selector struct {
				MatchLabels map[string]string
			}
			PodMetricsEndpoints []struct {
				Port, Path, Scheme string
				TLSConfig          struct {
					ServerName string
					CA         struct{ Secret corev1.SecretKeySelector }
				}
			}
		}
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &monitor); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/name": account}, monitor.Spec.Selector.MatchLabels); diff != "" {
		t.Error(diff)
	}
	for _, endpoint := range monitor.Spec.PodMetricsEndpoints {
		if endpoint.Port != port || endpoint.Scheme != "https" || endpoint.TLSConfig.ServerName != account+"."+namespace+".svc" {
			t.Errorf("%+v", endpoint)
		}
		if ca := endpoint.TLSConfig.CA.Secret; serving.Name != ca.Name || len(serving.Data[ca.Key]) == 0 {
			t.Errorf("the documented Secret %s has no key %s of %s", serving.Name, ca.Key, ca.Name)
		}
		paths = append(paths, endpoint.Path)
	}
	return paths
}

// unseen are metrics of kube-apiserver that appear only after an event: a terminated watch or, with an audit policy, an
// audited request.
var unseen = map[string]bool{
	"apiserver_terminated_watchers_total": true, "apiserver_audit_level_total": true, "apiserver_audit_error_total": true,
}

// A metric with a name of kube-apiserver has the same type, labels and buckets. Every metric of the dashboard and of
// the alerts exists.
func TestMetricsMatchKubeAPIServer(t *testing.T) {
	cluster := deployed(t)
	f := launch(t, cluster, func(c *facade.Config) {
		c.SLIMetrics, c.SelfAuditInterval, c.JournalDir = true, time.Hour, filepath.Join(t.TempDir(), "journal")
		c.Audit.PolicyFile, c.Audit.Path = filepath.Join(manifestsDir, "../audit/policy.yaml"), filepath.Join(t.TempDir(), "audit.log")
	})
	f.AwaitReady(t)
	admin, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	reader := through(f, readerToken(t, cluster))
	pods := suite.Collection(suite.ConfigMaps, suite.FirstNamespace)
	const streaming = "?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	for _, path := range []string{pods, pods + "?resourceVersion=0", pods + streaming, "/api/v1/namespaces/default/secrets", "/livez"} {
		fetch(t, admin, path, http.StatusOK)
		fetch(t, reader, path, http.StatusOK)
	}
	fetch(t, reader, "/metrics", http.StatusOK) // the counters of lanes begin at 0 with a scrape
	theirs := shapes(fetch(t, admin, "/metrics", http.StatusOK) + fetch(t, admin, "/metrics/slis", http.StatusOK))
	ours := shapes(fetch(t, reader, "/metrics", http.StatusOK) + fetch(t, reader, "/metrics/slis", http.StatusOK))
	compared := 0
	for name, shape := range ours {
		if !strings.HasPrefix(name, "apiserver_") && !strings.HasPrefix(name, "kubernetes_") {
			continue
		}
		want, ok := theirs[name]
		if !ok && !unseen[name] {
			t.Errorf("kube-apiserver has no %s", name)
		}
		if !ok {
			continue
		}
		compared++
		if diff := cmp.Diff(want, shape); diff != "" {
			t.Errorf("%s (-kube-apiserver +listfacade):\n%s", name, diff)
		}
	}
	if compared < 20 {
		t.Errorf("compared %d metrics", compared)
	}
	for _, name := range askedFor(t) {
		if strings.HasPrefix(name, "listfacade_upstream_endpoint_") || strings.HasPrefix(name, "listfacade_split_") {
			continue // there is one endpoint here, and no splitting proxy
		}
		if _, ok := ours[name]; !ok {
			if _, ok = ours[histogramPart.ReplaceAllString(name, "")]; !ok {
				t.Errorf("%s is used by the dashboard or an alert, but not served", name)
			}
		}
	}
	unauthorized := through(f, cluster.ConfigWithToken(cluster.Token(t, "default", "unauthorized", testkit.TokenOptions{})))
	for _, path := range []string{"/metrics", "/metrics/slis"} {
		fetch(t, unauthorized, path, http.StatusForbidden)
	}
}

// fetch sends a request with the credentials, checks the code, and returns the body.
func fetch(t *testing.T, config *rest.Config, path string, code int) string {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != code {
		t.Fatalf("%s: %d, want %d, %v: %.300s", path, response.StatusCode, code, err, body)
	}
	return string(body)
}

// shape describes a metric without its values.
type shape struct {
	Type    string
	Labels  []string
	Buckets []string
}

var (
	sample        = regexp.MustCompile(`(?m)^([a-zA-Z_:]+)(?:\{(.*)\})? `)
	label         = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	typed         = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// shapes returns the shapes of all metrics in Prometheus' text format.
func shapes(text string) map[string]shape {
	all := map[string]shape{}
	for _, found := range typed.FindAllStringSubmatch(text, -1) {
		all[found[1]] = shape{Type: found[2]}
	}
	for _, found := range sample.FindAllStringSubmatch(text, -1) {
		name := found[1]
		if _, ok := all[name]; !ok {
			name = histogramPart.ReplaceAllString(name, "")
		}
		s := all[name]
		for _, pair := range label.FindAllStringSubmatch(found[2], -1) {
			into, value := &s.Labels, pair[1]
			if pair[1] == "le" {
				into, value = &s.Buckets, pair[2]
			}
			if !slices.Contains(*into, value) {
				*into = append(*into, value)
			}
		}
		slices.Sort(s.Labels)
		all[name] = s
	}
	return all
}

var metricNames = regexp.MustCompile(`\b(?:apiserver_|listfacade_|kubernetes_|process_|go_)[a-zA-Z0-9_]+\{`)

// askedFor returns the metrics that the dashboard and the rules use.
func askedFor(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range []string{"dashboard.json", "prometheusrule.yaml"} {
		text, err := os.ReadFile(filepath.Join(manifestsDir, monitoringDir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricNames.FindAllString(string(text), -1) {
			if name = strings.TrimSuffix(name, "{"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) < 40 {
		t.Fatal(fmt.Sprint(len(names), " metrics are asked for"))
	}
	return names
}
