package incidents

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The facade's own user may read everything except config maps, and clients that have that right request them.
func TestWrongRight(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	cluster := suite.Cluster(t)
	s, path := newCrowd(t)
	user := "facade-" + s.Namespace
	role := grant(t, user, "pods", "nodes", "roles", "rolebindings", "clusterroles", "clusterrolebindings", "serviceaccounts")
	own := cluster.ConfigWith(cluster.Authority(t, testkit.ClientCA).Certify(t, testkit.Certificate{User: user, From: time.Now().Add(-time.Hour), Until: time.Now().Add(30 * 24 * time.Hour)}))
	run := suite.LaunchDelegating(t, testkit.WriteKubeconfig(t, own), suite.Unpacked)
	run.AwaitReady(t)
	admin := adminOf(t)
	o, m := operatorOf(run, admin), watch(t, admin, run)
	caller := run.ConfigOf(cluster.ConfigWithToken(cluster.Token(t, s.Namespace, "reader", tokenOptions)))
	allow(t, s.Namespace, "reader", "configmaps")
	r := startReader(t, caller, path, "controller/v1", readingSlowly)
	r.gets(t, http.StatusOK)
	o.said(t, "Lane ended; forwarding or refusing requests until the lane is started again", "error", "is forbidden")
	m.passes(t, 24)
	m.firesBeside([]string{"ListfacadeForwardsReads", "ListfacadeLaneNotFilled"}, `ListfacadeMayNotRead{resource="configmaps"}`)
	who := "system:serviceaccount:" + s.Namespace + ":reader"
	o.pageSays(t, "The facade cannot cache configmaps (json)")
	if line := o.topLine(t, "forwarded"); !strings.Contains(line, who+" controller/v1 list configmaps v1 namespace") {
		t.Errorf("top --by forwarded: %s", line)
	}
	if first := o.clients(t, "forwarded").Clients[0]; first.User != who || first.Source != "upstream" {
		t.Errorf("/debug/clients: %+v", first)
	}
	role.Rules[0].Resources = append(role.Rules[0].Resources, "configmaps")
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the facade reads config maps", func() error {
		for _, lane := range run.Lanes() {
			if lane.Resource == "configmaps" && lane.Synced {
				return nil
			}
		}
		return fmt.Errorf("%+v", run.Lanes())
	})
	m.passes(t, 24)
	m.firesBeside([]string{"ListfacadeForwardsReads"})
	m.verify(t)
}

// grant grants a user the rights of a facade, but only these resources to read.
func grant(t *testing.T, user string, resources ...string) *rbacv1.ClusterRole {
	t.Helper()
	clients, err := kubernetes.NewForConfig(adminOf(t))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", rbacv1.GroupName}, Resources: resources, Verbs: []string{"get", "list", "watch"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
	}}
	if role, err = clients.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{user, "system:auth-delegator"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: of},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := clients.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-", Namespace: "kube-system"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := clients.RbacV1().RoleBindings("kube-system").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return role
}
