// Command controller-runtime is a controller in the manner of Argo CD: it reads Applications, their Deployments and the
// metadata of pods from the cache of a manager, creates and scales Deployments, and writes the status of Applications.
// Only the leader works. Its configuration is split by the module client.
package main

import (
	"context"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	reader "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listfacade/listfacade/client"
)

// applications is the kind of the custom resource.
var applications = schema.GroupVersionKind{Group: "moved.example.com", Version: "v1", Kind: "Application"}

// owner is the label of a pod with the name of its Application.
const owner = "app"

func main() {
	ctrl.SetLogger(zap.New())
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "arguments: KUBECONFIG NAMESPACE FACADE-URL FACADE-CA-FILE")
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler(), os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, facade, caFile string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	config, err = client.WrapConfig(config, facade, ca)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "applications", LeaderElectionNamespace: namespace,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  reader.Options{Cache: &reader.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(applications)
	err = ctrl.NewControllerManagedBy(manager).For(kind).Owns(&appsv1.Deployment{}).
		WatchesMetadata(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(applicationOf)).
		Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// applicationOf returns the Application of a pod.
func applicationOf(_ context.Context, pod reader.Object) []reconcile.Request {
	name := pod.GetLabels()[owner]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: reader.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
}
