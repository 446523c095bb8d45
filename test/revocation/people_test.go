package revocation

import (
	"fmt"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// facadeConfig returns the client configuration of the facades' user, which has only the rights of a facade.
func facadeConfig(t *testing.T, c *testkit.Cluster) *rest.Config {
	t.Helper()
	config, err := c.Config("listfacade")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// place is a namespace whose objects the subjects of its binding may read.
type place struct {
	run *suite.Facade // the last one that askers was called with
	*suite.Fixture
	cluster *testkit.Cluster
	admin   kubernetes.Interface
}

func newPlace(t *testing.T, cluster *testkit.Cluster) *place {
	t.Helper()
	p := &place{Fixture: suite.NewFixture(t, cluster), cluster: cluster}
	var err error
	if p.admin, err = kubernetes.NewForConfig(p.Config); err != nil {
		t.Fatal(err)
	}
	return p
}

// reading returns the rules of readers.
func reading() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}}}
}

const reader = "reader"

// addRole creates the Role of readers.
func (p *place) addRole(t *testing.T) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: reader}, Rules: reading()}
	if _, err := p.admin.RbacV1().Roles(p.Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// addClusterRole creates a ClusterRole with the same rules, and returns its name.
func (p *place) addClusterRole(t *testing.T) string {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: reader + "-" + p.Namespace}, Rules: reading()}
	if _, err := p.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return role.Name
}

// bind binds the subjects to a role, by a RoleBinding named "reader".
func (p *place) bind(t *testing.T, kind, role string, to ...rbacv1.Subject) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: reader}, Subjects: to,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
	}
	if _, err := p.admin.RbacV1().RoleBindings(p.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *place) unbind(t *testing.T) {
	t.Helper()
	if err := p.admin.RbacV1().RoleBindings(p.Namespace).Delete(t.Context(), reader, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func aUser(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func aGroup(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func (p *place) anAccount(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: p.Namespace, Name: name}
}

// accounts returns the group of all service accounts of the namespace.
func (p *place) accounts() string { return "system:serviceaccounts:" + p.Namespace }

// askers returns clients of both servers for a user.
func (p *place) askers(t *testing.T, run *suite.Facade, who *rest.Config) *testkit.Oracle {
	t.Helper()
	p.run = run
	return run.As(t, who)
}

// bearer returns a client configuration with a new token of a service account.
func (p *place) bearer(t *testing.T, account string, o testkit.TokenOptions) *rest.Config {
	t.Helper()
	return p.cluster.ConfigWithToken(p.cluster.Token(t, p.Namespace, account, o))
}

// put creates or changes a ConfigMap or Secret, and returns its resourceVersion.
func (p *place) put(t *testing.T, gvr schema.GroupVersionResource, name, value string) uint64 {
	t.Helper()
	if gvr == suite.ConfigMaps {
		return p.Put(t, gvr, name, "", value)
	}
	if _, err := p.In(gvr).Get(t.Context(), name, metav1.GetOptions{}); err == nil {
		return p.Patch(t, gvr, name, fmt.Sprintf(`{"stringData":{"v":%q}}`, value))
	}
	p.Create(t, gvr, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": map[string]any{"v": value},
	})
	o, err := p.In(gvr).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return suite.RVOf(t, o.GetResourceVersion())
}

var people atomic.Int64

// newUser returns a user name that no other test uses.
func newUser() string { return fmt.Sprintf("user-%d", people.Add(1)) }
