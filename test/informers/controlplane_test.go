package informers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kube-controller-manager and kube-scheduler read through a facade and write to kube-apiserver. They become healthy and
// run a Deployment's pods. For all of their informers and for typed clients, kube-apiserver serves one watch per
// resource and encoding.
func TestControlPlane(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	own, err := testkit.StartCluster(t.Context(), "--nodes=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	suite.StopComponents(t, own)
	upstream := suite.NewTally(t, own)
	run := suite.LaunchFacade(t, upstream.Kubeconfig, func(c *facade.Config) { c.Uncached = nil })
	run.AwaitReady(t)
	startReading(t, own, run, suite.ControllerManager, "--use-service-account-credentials=true", "--root-ca-file="+own.CAFile)
	startReading(t, own, run, suite.Scheduler)
	s := suite.NewFixture(t, own) // whose namespace is furnished by controllers
	for replicas := range int32(3) {
		deploy(t, s, replicas+2)
	}
	watchWithAll(t, s, run)
	for asked, n := range upstream.MostOpen() {
		if asked.Way == suite.Watch && n > 1 {
			t.Errorf("%s: got %d concurrent requests, want 1", asked, n)
		}
	}
	t.Logf("kube-apiserver was asked for\n%s", upstream)
}

// watchWithAll checks that typed informers, which request protobuf by default, have all objects.
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
	for _, f := range factories {
		pods, nodes := f.Core().V1().Pods().Informer(), f.Core().V1().Nodes().Informer()
		f.Start(ctx.Done())
		testkit.Eventually(t, "the informers have all objects", func() error {
			if !pods.HasSynced() || !nodes.HasSynced() {
				return errors.New("they are not synced")
			}
			held := suite.Held(t, pods)
			for key, version := range s.Present(t, suite.Pods, metav1.ListOptions{}) { // the kubelet writes them, too
				if held[key] != version {
					return fmt.Errorf("%s: got version %s, want %s", key, held[key], version)
				}
			}
			return nil
		})
	}
}

// startReading starts a component that reads from a facade. It sends its reviews to kube-apiserver.
func startReading(t *testing.T, own *testkit.Cluster, run *suite.Facade, name string, further ...string) {
	t.Helper()
	suite.StartComponent(t, own, name, append([]string{
		"--kubeconfig=" + suite.Serve(t, readsFrom(t, own, run, name)),
		"--authentication-kubeconfig=" + own.Kubeconfigs[name], "--authorization-kubeconfig=" + own.Kubeconfigs[name],
	}, further...)...)
}

// readsFrom returns a server for a component that sends GET requests to the facade and others to kube-apiserver. It
// uses the component's token or, without one, the component's certificate.
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

// deploy brings a Deployment to a number of replicas, and waits until as many pods run.
func deploy(t *testing.T, s *suite.Fixture, replicas int32) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	there, err := clients.AppsV1().Deployments(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Items) == 0 {
		_, err = clients.AppsV1().Deployments(s.Namespace).Create(t.Context(), suite.NewDeployment("web", replicas), metav1.CreateOptions{})
	} else {
		gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		s.Patch(t, gvr, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	}
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, fmt.Sprintf("%d pods run", replicas), func() error {
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
