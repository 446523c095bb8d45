package rbac

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewClient returns a client for NewRules. Its scheme contains only rbac.authorization.k8s.io/v1. A client of
// client-go's Clientset would link all types of Kubernetes, which makes a process a third larger.
func NewClient(config *rest.Config) (toolscache.Getter, error) {
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register rbac.authorization.k8s.io/v1: %w", err)
	}
	metav1.AddToGroupVersion(scheme, rbacv1.SchemeGroupVersion)
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // as in generated clients
	}
	config.APIPath, config.GroupVersion = "/apis", &rbacv1.SchemeGroupVersion
	config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme,
		serializer.NewCodecFactory(scheme)).WithoutConversion()
	return rest.RESTClientFor(config)
}
