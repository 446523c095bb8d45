package incidents

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

var tokenOptions testkit.TokenOptions

// adminOf returns the configuration of the shared cluster's administrator.
func adminOf(t *testing.T) *rest.Config {
	t.Helper()
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// allow grants a service account the right to read resources of the core group in all namespaces.
func allow(t *testing.T, namespace, account string, resources ...string) {
	t.Helper()
	admin, err := kubernetes.NewForConfig(adminOf(t))
	if err != nil {
		t.Fatal(err)
	}
	name := namespace + "-" + account
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get", "list", "watch"}},
	}}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
