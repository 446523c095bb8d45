package moved

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The page's commands for kubectl read from the facade, and other commands still reach kube-apiserver.
func TestKubectlCommandsOfPage(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	dir, own := s.files(t)
	runPods(t, f, "shown", 1)
	commands := shell(t, s.cluster, s.kubeconfig)
	commands.Dir = dir
	out := commands.Run(t, own.Replace(block(t, "kubectl and k9s", 0)))
	if !strings.Contains(out, "shown-") || s.facade.count("list", "pods") == 0 {
		t.Errorf("the facade got %d lists of pods, and kubectl said\n%s", s.facade.count("list", "pods"), out)
	}
	for _, refused := range []string{"create namespace other-" + f.Namespace, "get pods -A --as somebody"} {
		if out, err := commands.Try(t, "kubectl --cluster facade "+refused); err == nil {
			t.Errorf("kubectl --cluster facade %s: got %s, want an error", refused, out)
		}
	}
	commands.Run(t, "kubectl create namespace other-"+f.Namespace)
	if n := s.kubeAPIServer.count("create", "namespaces"); n != 1 {
		t.Errorf("kube-apiserver got %d namespaces, want 1", n)
	}
}

// The discovery of Prometheus finds pods through the facade: those at its start, and later ones.
func TestPrometheusDiscoversPods(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	program := suite.CompiledBefore(t, "prometheus")
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	dir, own := s.files(t)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(own.Replace(block(t, "Prometheus", 0))), 0o600); err != nil {
		t.Fatal(err)
	}
	runPods(t, f, "early", 2)
	printed := suite.Launch(t, program, file)
	suite.AwaitDiscovered(t, printed, "pod/"+f.Namespace+"/early-", 2)
	runPods(t, f, "late", 1)
	suite.AwaitDiscovered(t, printed, "pod/"+f.Namespace+"/late-", 1)
	s.readsOnlyFacade(t)
}

// kube-state-metrics counts the pods that there are, and later ones.
func TestKubeStateMetricsCountsPods(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	_, own := s.files(t)
	runPods(t, f, "early", 2)
	line := strings.Fields(own.Replace(block(t, "kube-state-metrics", 0)))
	metrics := suite.StartStateMetrics(t, line[1:]...)
	awaitMetric(t, metrics, fmt.Sprintf(`kube_pod_info{namespace=%q,pod="early-`, f.Namespace), 2)
	runPods(t, f, "late", 1)
	awaitMetric(t, metrics, fmt.Sprintf(`kube_pod_info{namespace=%q,pod="late-`, f.Namespace), 1)
	s.readsOnlyFacade(t)
}

// The page's program in Python prints the pods that there are, and later ones.
func TestPythonWatchesPods(t *testing.T) {
	t.Parallel()
	python := suite.Python(t)
	s := newServers(t)
	f := suite.NewFixture(t, s.cluster)
	_, own := s.files(t)
	said := suite.Launch(t, python, "-u", "-c", own.Replace(block(t, "Python, Node.js, Java and Rust", 0)))
	for _, name := range []string{f.Namespace + "-a", f.Namespace + "-b"} {
		runPods(t, f, name, 1)
		awaitOutput(t, said, "ADDED "+name+"-", 1)
	}
	s.readsOnlyFacade(t)
}

// TestControllerRuntimeLine: the page's line is in the program that TestControllerRuntimeManagerIsSplit runs.
func TestControllerRuntimeLine(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "clients", "controller-runtime", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.TrimSpace(block(t, "controller-runtime and client-go", 0)); !strings.Contains(string(source), line) {
		t.Errorf("test/clients/controller-runtime does not contain %q", line)
	}
}

// readsOnlyFacade checks that a program that only reads used the facade, and nothing else.
func (s *servers) readsOnlyFacade(t *testing.T) {
	t.Helper()
	s.wellSplit(t)
	if got := s.kubeAPIServer.all(); len(got) > 0 || s.facade.count("watch", "pods") == 0 {
		t.Errorf("kube-apiserver got %+v, and the facade %d watches of pods", got, s.facade.count("watch", "pods"))
	}
}

// awaitOutput waits until a program has printed a text, at least as often as wanted.
func awaitOutput(t *testing.T, said *suite.Output, text string, times int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%q is printed %d times", text, times), func() error {
		if n := strings.Count(said.String(), text); n < times {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
}

// awaitMetric waits until metrics contain a text, at least as often as wanted.
func awaitMetric(t *testing.T, metrics *suite.StateMetrics, text string, times int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("there is %q %d times", text, times), func() error {
		body, err := metrics.Read()
		if err == nil && strings.Count(body, text) < times {
			err = errNotYet
		}
		return err
	})
}

// runPods runs pods of a Deployment, and waits until they are ready.
func runPods(t *testing.T, f *suite.Fixture, name string, replicas int32) {
	t.Helper()
	deployments := suite.NewClients(t, f.Config).Typed.AppsV1().Deployments(f.Namespace)
	if _, err := deployments.Create(t.Context(), suite.NewDeployment(name, replicas), metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	testkit.Eventually(t, name+" is ready", func() error {
		is, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && is.Status.ReadyReplicas != replicas {
			err = errNotYet
		}
		return err
	})
}
