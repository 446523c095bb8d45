// Command controller-runtime is a controller in the manner of Argo CD: it reads Applications, their Deployments and the
// metadata of objects of all kinds from the cache of a manager, creates and scales Deployments, and writes the status
// of Applications. Only the leader works. With the arguments for a facade, the module client sends the controller's
// reads to the facade.
package main

import (
	"context"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
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

// owner is the label of an object with the name of its Application.
const owner = "app"

func main() {
	ctrl.SetLogger(zap.New())
	if len(os.Args) != 3 && len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "arguments: KUBECONFIG NAMESPACE [FACADE-URL FACADE-CA-FILE]")
		os.Exit(2)
	}
	config, err := configuration(os.Args[1], os.Args[3:])
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// configuration reads a kubeconfig. If split contains the URL of a facade and a file with the facade's CA certificates,
// the result sends reads to the facade.
func configuration(kubeconfig string, split []string) (config *rest.Config, err error) {
	config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil || len(split) == 0 {
		return config, err
	}
	facade := split[0]
	ca, err := os.ReadFile(split[1])
	if err != nil {
		return nil, err
	}
	config, err = client.WrapConfig(config, facade, ca)
	return config, err
}

func run(ctx context.Context, config *rest.Config, namespace string) error {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "applications", LeaderElectionNamespace: namespace,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  reader.Options{Cache: &reader.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	all, err := kindsOf(config, manager.GetHTTPClient())
	if err != nil {
		return err
	}
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(applications)
	controller := ctrl.NewControllerManagedBy(manager).For(kind).Owns(&appsv1.Deployment{})
	for _, one := range all {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(one)
		controller.WatchesMetadata(object, handler.EnqueueRequestsFromMapFunc(applicationOf))
	}
	if err := controller.Complete(&reconciler{manager.GetClient(), all}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// applicationOf returns the Application of an object.
func applicationOf(_ context.Context, object reader.Object) []reconcile.Request {
	name := object.GetLabels()[owner]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: reader.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
}
