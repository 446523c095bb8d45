package suite

import (
	"errors"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// facadeUser is the user that facades act as. kube-apiserver authorizes all requests of this user. The user has the
// rights in devcluster/manifests/users.yaml, which are those that a facade needs.
const facadeUser = "listfacade"

// allowed contains the clusters whose facadeUser may read everything.
var allowed sync.Map

// FacadeKubeconfig returns the kubeconfig of the user that facades of a cluster act as. The user may read everything,
// which is more than a facade needs, because suites compare the facade's answers with the answers to an administrator.
func FacadeKubeconfig(t testing.TB, c *testkit.Cluster) string {
	t.Helper()
	if _, done := allowed.Load(c); !done {
		allowReading(t, c)
		allowed.Store(c, true)
	}
	return c.Kubeconfigs[facadeUser]
}

// FacadeConfig returns FacadeKubeconfig as a client configuration, for proxies between a facade and the cluster.
func FacadeConfig(t testing.TB, c *testkit.Cluster) *rest.Config {
	t.Helper()
	FacadeKubeconfig(t, c)
	config, err := c.Config(facadeUser)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// allowReading grants the right to read everything, unless another test has already granted it.
func allowReading(t testing.TB, c *testkit.Cluster) {
	t.Helper()
	admin := clientsOf(t, c, "admin", c.Server)
	const name = "suite-reads-everything"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"get", "head"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: facadeUser}},
	}
	_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, server := range c.Servers { // each server receives the binding by its own watch
		user := clientsOf(t, c, facadeUser, server)
		testkit.Eventually(t, "the facade's user may read", func() error {
			review, err := user.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
				&authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{
						ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"},
					},
				}, metav1.CreateOptions{})
			if err == nil && !review.Status.Allowed {
				err = errors.New(review.Status.Reason)
			}
			return err
		})
	}
}

func clientsOf(t testing.TB, c *testkit.Cluster, user, server string) kubernetes.Interface {
	t.Helper()
	config, err := c.Config(user)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = server
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}
