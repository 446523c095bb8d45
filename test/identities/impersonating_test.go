package identities

import (
	"net/http"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// impersonator is a user of a facade with the rights of deploy/kubernetes/overlays/impersonate.
const impersonator = "listfacade-impersonating"

// grantImpersonation grants the impersonator these rights and the rights of every facade.
func grantImpersonation(t *testing.T, w *world) {
	t.Helper()
	config, err := w.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	overlay := os.DirFS("../../deploy/kubernetes/overlays/impersonate")
	if err := testkit.FurnishFiles(t.Context(), config, overlay, "impersonator.yaml"); err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: impersonator}}
	for _, role := range []string{"listfacade-impersonator-users", "listfacade-impersonator-reads", "read-all-but-secrets", "system:auth-delegator"} {
		_, err := clients.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: impersonator + "-" + strings.ReplaceAll(role, ":", "-")}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	const reader = "extension-apiserver-authentication-reader"
	_, err = clients.RbacV1().RoleBindings("kube-system").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: impersonator}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// With --passthrough=impersonate, the facade forwards requests of callers without a token by impersonating them.
func TestForwardsByImpersonationAreAnsweredAsByUpstream(t *testing.T) {
	w := newWorld(t)
	grantImpersonation(t, w)
	kubeconfig := testkit.WriteKubeconfig(t, w.user(t, impersonator))
	f := suite.LaunchDelegating(t, kubeconfig, func(c *facade.Config) { c.Authorization.PassThrough = "impersonate" })
	f.AwaitReady(t)
	seen := map[string][]string{
		"reader": {inFirst, inNamed, inMounted, podOfNode0}, "nadia": {inFirst, inNamed, firstSecret}, "nick": {inNamed}, "node-0": {inMounted}, "node-1": nil,
		"of a group": {inFirst, inNamed, firstSecret}, "through a front proxy": {inFirst, inNamed, firstSecret}, "certificate before token": {inNamed},
		"without rights": nil, "robot": {inFirst, inNamed, firstSecret}, "anonymous": nil, "bad token": nil,
	}
	for name, canaries := range seen {
		t.Run(name, func(t *testing.T) {
			o := w.as(t, f, name)
			o.Excused = nil
			facade := watches(o.Facade)
			for _, path := range []string{
				inFirstNamespace, inFirstNamespace + "/named", "/api/v1/namespaces/oracle-b/configmaps/mounted", "/api/v1/secrets", robotsSecrets, robotsSecrets + "/canary",
				"/api/v1/namespaces/oracle-b/secrets/canary", "/api/v1/namespaces/oracle-b/pods/on-node-0/status", "/api/v1/namespaces/oracle/pods/alpha/status",
				"/apis/apps/v1/namespaces/oracle/deployments/alpha/scale", "/apis/apps/v1/deployments", "/apis/nope.io/v1/things", "/api/v1/nothings", "/version", "/api", "/apis/apps/v1",
			} {
				o.Compare(t, testkit.Question{Path: path})
			}
			stream(t, o, testkit.Question{Path: robotsSecrets + "?watch=1&timeoutSeconds=1"})
			facade.saw(t, "the facade", canaries)
		})
	}
	// system:masters are never impersonated.
	if answer := w.as(t, f, "admin").Facade.MustAsk(t, testkit.Question{Path: robotsSecrets}); answer.Code < http.StatusBadRequest {
		t.Errorf("admin: %d", answer.Code)
	}
}
