package informers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	// controlWithin bounds what controllers do.
	controlWithin = 2 * time.Minute
)

// TestControlPlane has kube-controller-manager and kube-scheduler read through a facade, and write past it. They become
// healthy, and make a Deployment's pods run. However many informers they have, and typed clients beside them,
// kube-apiserver serves one watch of a resource in an encoding.
func TestControlPlane(t *testing.T) {
	own, err := testkit.StartCluster(t.Context(), "--nodes=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	for _, component := range []string{controllerManager, scheduler} {
		if err := own.Do(t.Context(), component, "stop"); err != nil {
			t.Fatal(err)
		}
	}
	upstream := suite.NewTally(t, own)
	run := suite.LaunchFacade(t, upstream.Kubeconfig, func(c *facade.Config) { c.Uncached = nil })
	run.AwaitReady(t)
	startComponent(t, own, run, controllerManager, "--use-service-account-credentials=true", "--root-ca-file="+own.CAFile)
	startComponent(t, own, run, scheduler)
	s := suite.NewFixture(t, own) // whose namespace is furnished by controllers
	for replicas := range int32(3) {
		deploy(t, s, replicas+2)
	}
	watchWithAll(t, s, run)
	for asked, n := range upstream.MostOpen() {
		if asked.Way == suite.Watch && n > 1 {
			t.Errorf("%s: %d at a time", asked, n)
		}
	}
	t.Logf("kube-apiserver was asked for\n%s", upstream)
}

// watchWithAll has typed informers, which ask for protobuf unless they are told otherwise, hold what there is.
func watchWithAll(t *testing.T, s *suite.Fixture, run *suite.Facade) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var factories []informers.SharedInformerFactory
	for range 10 {
		factories = append(factories, informers.NewSharedInformerFactory(suite.NewClients(t, run.Config).Typed, 0))
	}
	t.Cleanup(func() {
		stop()
		for _, f := range factories {
			f.Shutdown()
		}
	})
	want := s.Present(t, suite.Pods, metav1.ListOptions{})
	for _, f := range factories {
		pods, nodes := f.Core().V1().Pods().Informer(), f.Core().V1().Nodes().Informer()
		f.Start(ctx.Done())
		testkit.Eventually(t, controlWithin, "the informers hold what there is", func() error {
			if !pods.HasSynced() || !nodes.HasSynced() {
				return errors.New("they are not synced")
			}
			held := suite.Held(t, pods)
			for key, version := range want {
				if held[key] != version {
					return fmt.Errorf("%s is held at %s, not at %s", key, held[key], version)
				}
			}
			return nil
		})
	}
}

// startComponent starts a component that reads from a facade, and waits until it is healthy. It ends with the test.
func startComponent(t *testing.T, own *testkit.Cluster, run *suite.Facade, name string, further ...string) {
	t.Helper()
	port := freePort(t)
	command := exec.Command(own.Binaries[name], append([]string{
		"--kubeconfig=" + suite.Serve(t, readsFrom(t, own, run, name)),
		"--authentication-kubeconfig=" + own.Kubeconfigs[name], "--authorization-kubeconfig=" + own.Kubeconfigs[name],
		"--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + t.TempDir(), "--leader-elect=false",
	}, further...)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s said\n%s", name, said.Bytes()[max(said.Len()-8<<10, 0):])
		}
	})
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // the test's own server
	}}
	testkit.Eventually(t, controlWithin, name+" is healthy", func() error {
		answer, err := client.Get("https://127.0.0.1:" + port + "/healthz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("healthz: %s", answer.Status)
		}
		return nil
	})
}

// readsFrom is a server for a component: the facade answers GET, and kube-apiserver everything else, to whom the
// component's token names or else to the component itself.
func readsFrom(t *testing.T, own *testkit.Cluster, run *suite.Facade, name string) http.Handler {
	t.Helper()
	config, err := own.Config(name)
	if err != nil {
		t.Fatal(err)
	}
	itself := suite.Forward(t, config)
	byToken := suite.Forward(t, &rest.Config{Host: config.Host, TLSClientConfig: rest.TLSClientConfig{CAFile: own.CAFile}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			run.Handler().ServeHTTP(w, r)
		case r.Header.Get("Authorization") != "":
			byToken.ServeHTTP(w, r)
		default:
			itself.ServeHTTP(w, r)
		}
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// deploy brings a Deployment to a number of replicas, and waits until as many pods run.
func deploy(t *testing.T, s *suite.Fixture, replicas int32) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
	there, err := clients.AppsV1().Deployments(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Items) == 0 {
		_, err = clients.AppsV1().Deployments(s.Namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
	} else {
		gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		s.Patch(t, gvr, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	}
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, controlWithin, fmt.Sprintf("%d pods run", replicas), func() error {
		pods, err := clients.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		running := int32(0)
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		deployment, err := clients.AppsV1().Deployments(s.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && (running != replicas || deployment.Status.ReadyReplicas != replicas) {
			err = fmt.Errorf("%d of %d pods run, the Deployment knows of %d", running, len(pods.Items), deployment.Status.ReadyReplicas)
		}
		return err
	})
}
