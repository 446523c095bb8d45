package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The service account of the manifests.
const (
	namespace   = "listfacade-system"
	account     = "listfacade"
	accountUser = "system:serviceaccount:" + namespace + ":" + account
)

// readerLabel on a ClusterRole adds its rules to the account's rights.
const readerLabel = "listfacade.io/aggregate-to-reader"

var applied sync.Map // clusters that have the manifests

// deployed returns the shared cluster with the manifests and the fixtures.
func deployed(t testing.TB) *testkit.Cluster {
	t.Helper()
	cluster := suite.Furnished(t)
	if _, done := applied.Load(cluster); !done {
		applyManifests(t, cluster)
		applied.Store(cluster, true)
	}
	return cluster
}

// applyManifests applies the manifests with the authority, and waits until kube-apiserver applies the account's rights.
func applyManifests(t testing.TB, cluster *testkit.Cluster) {
	t.Helper()
	kubectl(t, cluster, build(t, cluster, "overlays/authority").yaml, "apply", "--server-side", "-f", "-")
	awaitRight(t, cluster, accountUser, true, listing("", "pods"))
}

// launch starts a facade like a pod of the manifests: with a token of the account, and with authentication of callers.
func launch(t testing.TB, cluster *testkit.Cluster, changes ...func(*facade.Config)) *suite.Facade {
	t.Helper()
	kubeconfig := testkit.WriteKubeconfig(t, cluster.ConfigWithToken(cluster.Token(t, namespace, account, testkit.TokenOptions{})))
	telling := func(c *facade.Config) { c.Authentication.AnonymousActsAsKubeconfig = false }
	return suite.LaunchFacade(t, kubeconfig, slices.Concat([]func(*facade.Config){telling}, changes)...)
}

// through returns a client's configuration for the facade instead of kube-apiserver.
func through(run *suite.Facade, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.CAFile, config.CAData = run.Config.Host, run.Config.CAFile, run.Config.CAData
	return config
}

// readerToken returns a client with all rights and a token.
func readerToken(t testing.TB, cluster *testkit.Cluster) *rest.Config {
	t.Helper()
	token := cluster.Token(t, "default", "reader-of-everything", testkit.TokenOptions{})
	_, err := administrator(t, cluster).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader-of-everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "reader-of-everything"}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	awaitRight(t, cluster, "system:serviceaccount:default:reader-of-everything", true, listing("", "secrets"))
	return cluster.ConfigWithToken(token)
}

func administrator(t testing.TB, cluster *testkit.Cluster) kubernetes.Interface {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func listing(group, resource string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource},
	}
}

// awaitRight waits until a user has a right, or no longer has it. kube-apiserver receives roles and bindings by a
// watch, and a controller aggregates the roles with the label.
func awaitRight(t testing.TB, cluster *testkit.Cluster, user string, want bool, asked authorizationv1.SubjectAccessReviewSpec) {
	t.Helper()
	asked.User = user
	reviews := administrator(t, cluster).AuthorizationV1().SubjectAccessReviews()
	ctx := context.WithoutCancel(t.Context()) // at the end of the test, too
	testkit.Eventually(t, fmt.Sprintf("%s has the right: %t", user, want), func() error {
		review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: asked}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed != want {
			err = errors.New(review.Status.Reason)
		}
		return err
	})
}

// without removes a rule from a ClusterRole until the test ends. Then it restores the right.
func without(t *testing.T, cluster *testkit.Cluster, role string, at int) rbacv1.PolicyRule {
	t.Helper()
	roles := administrator(t, cluster).RbacV1().ClusterRoles()
	was, err := roles.Get(t.Context(), role, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := slices.Clone(was.Rules)
	was.Rules = slices.Delete(slices.Clone(rules), at, at+1)
	if _, err := roles.Update(t.Context(), was, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		is, err := roles.Get(context.Background(), role, metav1.GetOptions{})
		if err == nil {
			is.Rules = rules
			_, err = roles.Update(context.Background(), is, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Error(err)
			return
		}
		if rule := rules[at]; len(rule.Resources) > 0 {
			awaitRight(t, cluster, accountUser, true, listing(rule.APIGroups[0], rule.Resources[0]))
		}
	})
	return rules[at]
}
