package moved

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The policy of deploy/kubernetes/in-cluster-clients: its label, and what it gives to a client.
const (
	splitLabel = "listfacade.io/split"
	splitHost  = "listfacade-split.listfacade-system.svc"
	splitCA    = "listfacade-split-ca"
	serverCA   = "kube-root-ca.crt"
)

// policed is a namespace for pods in a cluster with the policy.
type policed struct {
	*suite.Fixture
	cluster *testkit.Cluster
	clients kubernetes.Interface
}

// newPoliced applies the policy, and returns a namespace with a value of the label, or without it.
func newPoliced(t *testing.T, value string) *policed {
	t.Helper()
	p := &policed{cluster: suite.Cluster(t)}
	p.Fixture = suite.NewFixture(t, p.cluster)
	p.clients = suite.NewClients(t, p.Config).Typed
	out, err := exec.CommandContext(t.Context(), p.cluster.Binaries["kubectl"], "--kubeconfig", p.cluster.Kubeconfigs["admin"],
		"apply", "--server-side", "--kustomize", filepath.Join("..", "..", "deploy", "kubernetes", "in-cluster-clients")).CombinedOutput()
	if err != nil || strings.Contains(string(out), "Warning") {
		t.Fatalf("apply the policy: %v\n%s", err, out)
	}
	if value != "" {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, splitLabel, value)
		_, err := p.clients.CoreV1().Namespaces().Patch(t.Context(), p.Namespace, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// admit returns a pod as kube-apiserver would store it.
func (p *policed) admit(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	admitted, err := p.clients.CoreV1().Pods(p.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	return admitted
}

// awaitPolicy waits until kube-apiserver's admission has received the policy, the binding, and the namespace's label.
func (p *policed) awaitPolicy(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	testkit.Eventually(t, "the policy is in use", func() error {
		if admitted := p.admit(t, pod); environment(admitted.Spec.Containers[0])[hostVariable] == "" {
			return errors.New("a pod is not changed")
		}
		return nil
	})
}

// The variables in which client-go and other libraries find kube-apiserver.
const (
	hostVariable = "KUBERNETES_SERVICE_HOST"
	portVariable = "KUBERNETES_SERVICE_PORT"
)

// newPod returns a pod with a container, after changes.
func newPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "client"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "client"}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func withLabel(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{splitLabel: value} }
}

// environment returns the variables with a literal value.
func environment(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, variable := range c.Env {
		all[variable.Name] = variable.Value
	}
	return all
}

// authorities returns the ConfigMaps that the pod's volumes project as ca.crt.
func authorities(pod *corev1.Pod) []string {
	var names []string
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil && source.ConfigMap.Items[0].Path == "ca.crt" {
				names = append(names, source.ConfigMap.Name)
			}
		}
	}
	return names
}

// isMoved reports whether a pod's containers use the splitting proxy: all, none, or an error.
func isMoved(pod *corev1.Pod) (bool, error) {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	moved := 0
	for _, c := range containers {
		if own := environment(c); own[hostVariable] == splitHost && own[portVariable] == "443" {
			moved++
		}
	}
	names := authorities(pod)
	switch {
	case moved == len(containers) && slices.Equal(names, []string{splitCA}):
		return true, nil
	case moved == 0 && !slices.Contains(names, splitCA):
		return false, nil
	default:
		return false, fmt.Errorf("%d of %d containers are moved, and the authorities are %q", moved, len(containers), names)
	}
}

// Both parts of a pod are changed, or none. A client with the address of one server and the authority of the other
// could not connect.
func TestPolicyMovesLabelledPods(t *testing.T) {
	t.Parallel()
	initial := func(pod *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}, {Name: "sidecar", Image: "s", RestartPolicy: &always}}
	}
	withEnvironment := func(pod *corev1.Pod) { pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}} }
	withServer := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: hostVariable, Value: "example.com"}}
	}
	onHost := func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }
	tests := []struct {
		name   string
		change []func(*corev1.Pod)
		moved  bool
	}{
		{"a plain pod", nil, true},
		{"init containers and sidecars", []func(*corev1.Pod){initial}, true},
		{"an environment", []func(*corev1.Pod){withEnvironment}, true},
		{"a label of the pod", []func(*corev1.Pod){withLabel("enabled")}, true},
		{"a pod that opts out", []func(*corev1.Pod){withLabel("disabled")}, false},
		{"a server of its own", []func(*corev1.Pod){withServer}, false},
		{"no token", []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.AutomountServiceAccountToken = new(bool) }}, false},
		{"the node's network without names of Services", []func(*corev1.Pod){onHost}, false},
		{"the node's network with names of Services", []func(*corev1.Pod){onHost, func(pod *corev1.Pod) {
			pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
		}}, true},
		{"the node's names", []func(*corev1.Pod){func(pod *corev1.Pod) { pod.Spec.DNSPolicy = corev1.DNSDefault }}, false},
	}
	p := newPoliced(t, "enabled")
	p.awaitPolicy(t, newPod())
	for _, test := range tests {
		if moved, err := isMoved(p.admit(t, newPod(test.change...))); err != nil || moved != test.moved {
			t.Errorf("%s: got moved %t, %v, want %t", test.name, moved, err, test.moved)
		}
	}
}

// Outside of a labelled namespace only labelled pods are changed.
func TestPolicyMovesSinglePods(t *testing.T) {
	t.Parallel()
	p := newPoliced(t, "")
	p.awaitPolicy(t, newPod(withLabel("enabled")))
	for _, test := range []struct {
		change []func(*corev1.Pod)
		moved  bool
	}{{nil, false}, {[]func(*corev1.Pod){withLabel("enabled")}, true}, {[]func(*corev1.Pod){withLabel("other")}, false}} {
		pod := newPod(test.change...)
		if moved, err := isMoved(p.admit(t, pod)); err != nil || moved != test.moved {
			t.Errorf("labels %v: got moved %t, %v, want %t", pod.Labels, moved, err, test.moved)
		}
	}
}

// Containers that name their server themselves, or do not have the account's volume, stay as they are.
func TestPolicyLeavesOtherContainers(t *testing.T) {
	t.Parallel()
	p := newPoliced(t, "enabled")
	p.awaitPolicy(t, newPod())
	admitted := p.admit(t, newPod(func(pod *corev1.Pod) {
		own := corev1.Container{Name: "own", Image: "o", Env: []corev1.EnvVar{{Name: hostVariable, Value: "example.com"}}}
		mounted := corev1.Container{Name: "mounted", Image: "m", VolumeMounts: []corev1.VolumeMount{
			{Name: "files", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
		}}
		pod.Spec.Containers = append(pod.Spec.Containers, own, mounted)
		pod.Spec.Volumes = []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}))
	var hosts []string
	for _, c := range admitted.Spec.Containers {
		hosts = append(hosts, environment(c)[hostVariable])
	}
	if want := []string{splitHost, "example.com", ""}; !slices.Equal(hosts, want) || !slices.Equal(authorities(admitted), []string{splitCA}) {
		t.Errorf("got hosts %q and authorities %q, want %q and %s", hosts, authorities(admitted), want, splitCA)
	}
}
