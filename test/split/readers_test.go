package split

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reader is what a program that only reads knows of the cluster, as a text.
type reader func() (string, error)

// compare changes the cluster while a program runs twice: with the address of kube-apiserver and with the proxy's. Both
// must reach the same state, which contains the names of new objects.
func (s *site) compare(t *testing.T, k *kubectl, account string, start func(t *testing.T, kubeconfig string) reader) {
	settings.Long(t)
	k.deploy(t, account+"-early")
	config := s.client(t, account)
	proxied := start(t, testkit.WriteKubeconfig(t, config))
	config.Host = s.cluster.Server
	direct := start(t, testkit.WriteKubeconfig(t, config))
	awaitSame(t, direct, proxied, account+"-early")
	k.deploy(t, account+"-late")
	awaitSame(t, direct, proxied, account+"-late")
}

// awaitSame waits until two readers know the same, also about pods of a Deployment.
func awaitSame(t *testing.T, direct, proxied reader, deployment string) {
	t.Helper()
	testkit.Eventually(t, "both know of "+deployment, func() error {
		want, err := direct()
		got, otherErr := proxied()
		if err = errors.Join(err, otherErr); err == nil && (want != got || !strings.Contains(want, deployment+"-")) {
			err = difference{want, got}
		}
		return err
	})
}

// difference is an error that compares two texts only when the error is printed.
type difference struct{ want, got string }

func (d difference) Error() string {
	return "(-kube-apiserver +proxy):\n" + cmp.Diff(strings.Split(d.want, "\n"), strings.Split(d.got, "\n"))
}

// startStateMetrics starts kube-state-metrics. It knows the metrics of all kinds, except the times when leases were
// renewed: these change all the time, and kube-apiserver answers reads of leases in both cases.
func startStateMetrics(t *testing.T, kubeconfig string) reader {
	metrics := suite.StartStateMetrics(t, "--kubeconfig="+kubeconfig)
	return func() (string, error) {
		text, err := metrics.Read()
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "kube_lease_renew_time{")
		})
		slices.Sort(lines) // objects of a kind have no order
		return strings.Join(lines, "\n"), err
	}
}

// prometheusRoles are the roles of Prometheus' discovery, with the beginning of their sources.
var prometheusRoles = map[string]string{
	"node": "node/", "service": "svc/", "pod": "pod/", "endpoints": "endpoints/", "endpointslice": "endpointslice/", "ingress": "ingress/",
}

// startPrometheus starts the discovery of Prometheus in all roles. It knows all targets with their labels.
func startPrometheus(t *testing.T, kubeconfig string) reader {
	program := suite.CompiledBefore(t, "prometheus")
	text := "scrape_configs:\n- job_name: all\n  kubernetes_sd_configs:\n"
	for role := range prometheusRoles {
		text += fmt.Sprintf("  - {role: %s, kubeconfig_file: %s, attach_metadata: {node: true, namespace: true}}\n", role, kubeconfig)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := suite.Launch(t, program, file)
	return func() (string, error) {
		groups := suite.DiscoveredBy(printed)
		for _, begin := range prometheusRoles {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(groups)), func(source string) bool { return strings.HasPrefix(source, begin) }) {
				return "", fmt.Errorf("no target of %s is discovered", begin)
			}
		}
		withoutPods(groups)
		lines, err := json.MarshalIndent(groups, "", " ")
		return string(lines), err
	}
}

// withoutPods removes the labels of pods from endpoints and slices. Prometheus does not update these labels when a pod
// changes, so that they depend on which of its watches receives an event first. The groups of pods have the same
// labels.
func withoutPods(groups map[string]suite.TargetGroup) {
	for source, group := range groups {
		if !strings.HasPrefix(source, "endpoint") {
			continue
		}
		for _, target := range group.Targets {
			maps.DeleteFunc(target, func(label, _ string) bool { return strings.HasPrefix(label, "__meta_kubernetes_pod_") })
		}
	}
}
