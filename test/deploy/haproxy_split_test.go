package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// split is a HAProxy in front of a cluster and its facade.
type split struct {
	cluster *testkit.Cluster
	facade  *suite.Facade
	url     string
}

// splitBefore starts HAProxy in front of a cluster with the manifests.
func splitBefore(t *testing.T, cluster *testkit.Cluster) *split {
	t.Helper()
	run := launch(t, cluster, func(c *facade.Config) { c.CertFile, c.KeyFile = cluster.Serving.CertFile, cluster.Serving.KeyFile })
	run.AwaitReady(t)
	ca := read(t, cluster.CAFile)
	proxies := cluster.Authority(t, testkit.FrontProxyCA)
	b := balanced{
		facade: strings.TrimPrefix(run.URL, "https://"), apiServer: strings.TrimPrefix(cluster.Server, "https://"),
		clientCA: ca, serverCA: ca,
		serving: testkit.KeyPair{CertData: read(t, cluster.Serving.CertFile), KeyData: read(t, cluster.Serving.KeyFile)},
		proxy:   proxies.Certify(t, testkit.Certificate{User: testkit.FrontProxyName}),
	}
	return &split{cluster: cluster, facade: run, url: b.start(t)}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kubectls returns kubectl for one user, directly and through HAProxy.
func (s *split) kubectls(t *testing.T, config *rest.Config) *testkit.Kubectls {
	t.Helper()
	proxied := rest.CopyConfig(config)
	proxied.Host = s.url
	binary := s.cluster.Binaries["kubectl"]
	return &testkit.Kubectls{Upstream: testkit.NewKubectl(t, binary, config), Facade: testkit.NewKubectl(t, binary, proxied)}
}

// All commands of kubectl work through HAProxy, with a certificate or a token. The facade answers reads, and
// kube-apiserver all other requests.
func TestKubectlThroughProxy(t *testing.T) {
	settings.Long(t)
	s := splitBefore(t, deployed(t))
	admin, err := s.cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	fixture := suite.NewFixture(t, s.cluster)
	pod := runPod(t, s.cluster, fixture.Namespace)
	for _, c := range []struct {
		name   string
		config *rest.Config
		user   string
	}{
		{"certificate", admin, "admin"}, {"token", readerToken(t, s.cluster), "system:serviceaccount:default:reader-of-everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			both := s.kubectls(t, c.config)
			for _, command := range []string{"auth whoami", "auth whoami -o jsonpath={.status.userInfo.groups}"} {
				if out := both.Facade.Run(t, strings.Fields(command)...); !strings.Contains(out, c.user) && !strings.Contains(out, "system:authenticated") {
					t.Errorf("kubectl %s: %s", command, out)
				}
			}
			s.write(t, both.Facade, fixture.Namespace, c.name)
			for _, command := range []string{
				"get configmap made-by-" + c.name + " -o yaml", "get pods,secrets", "auth can-i delete nodes",
				"logs " + pod, "exec " + pod + " -- ls", "attach " + pod, "port-forward missing 1:1", "delete configmap missing",
			} {
				both.Compare(t, append([]string{"-n", fixture.Namespace}, strings.Fields(command)...)...)
			}
		})
	}
}

// write watches an object and writes it.
func (s *split) write(t *testing.T, kubectl *testkit.Kubectl, namespace, name string) {
	t.Helper()
	told := kubectl.Follow(t, "-n", namespace, "get", "configmaps", "--watch", "-o", "name")
	file := filepath.Join(t.TempDir(), "object.yaml")
	object := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made-by-%s}\n", name)
	if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := kubectl.Run(t, "-n", namespace, "apply", "-f", file); !strings.Contains(out, "configmap/made-by-"+name+" created") {
		t.Fatal(out)
	}
	deadline := time.After(suite.Patience)
	for {
		select {
		case line := <-told:
			if line == "configmap/made-by-"+name {
				testkit.Eventually(t, "the facade serves the watch", func() error { // the watch may start after the object
					if s.facade.Watchers("configmaps") == 0 {
						return errors.New("the facade has no watch")
					}
					return nil
				})
				return
			}
		case <-deadline:
			t.Fatal("the watch does not send the written object")
		}
	}
}

// runPod starts a pod, which a simulated node reports as running, and returns its name.
func runPod(t *testing.T, cluster *testkit.Cluster, namespace string) string {
	t.Helper()
	pods := administrator(t, cluster).CoreV1().Pods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "running"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}},
	}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod runs", func() error {
		is, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err == nil && is.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", is.Status.Phase)
		}
		return err
	})
	return pod.Name
}
