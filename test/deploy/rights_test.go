package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Texts of the facade's refusals when it lacks a right or a resource.
const (
	notLet  = "kube-apiserver does not allow listfacade to make this request on behalf of a caller"
	notHeld = "this request is not cached"
	unknown = "authentication or authorization by kube-apiserver is unavailable"
)

// widgets are custom resources, of the fixtures.
const widgets = "/apis/ex.io/v1/widgets"

// callers are clients of a facade with the right to read everything: one with a certificate, and one with a token,
// whose requests can be forwarded.
type callers struct {
	run                *suite.Facade
	certificate, token *testkit.Asker
}

func callersOf(t *testing.T, cluster *testkit.Cluster, run *suite.Facade) *callers {
	t.Helper()
	admin, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	asker := func(config *rest.Config) *testkit.Asker {
		asker, err := testkit.NewAsker(through(run, config))
		if err != nil {
			t.Fatal(err)
		}
		return asker
	}
	return &callers{run: run, certificate: asker(admin), token: asker(readerToken(t, cluster))}
}

// told waits until a caller receives a code and text. The facade reads the client CA after its start, and finds out its
// rights by trying.
func told(t *testing.T, a *testkit.Asker, path string, code int, words string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s receives %d %s", path, code, words), func() error {
		answer, err := a.Ask(t.Context(), testkit.Question{Path: path})
		if err == nil && (answer.Code != code || !strings.Contains(string(answer.Body), words)) {
			err = fmt.Errorf("%d: %.300s", answer.Code, answer.Body)
		}
		return err
	})
}

// allowWidgets creates a role with the label, as an administrator does for a custom resource.
func allowWidgets(t *testing.T, cluster *testkit.Cluster) {
	t.Helper()
	roles := administrator(t, cluster).RbacV1().ClusterRoles()
	const name = "listfacade-reader-widgets"
	_, err := roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{readerLabel: "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"ex.io"}, Resources: []string{"widgets"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := roles.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
			return
		}
		// The next test that grants the right waits for it.
		awaitRight(t, cluster, accountUser, false, listing("ex.io", "widgets"))
	})
	awaitRight(t, cluster, accountUser, true, listing("ex.io", "widgets"))
}

// With the rights of the manifests a facade caches all watchable resources except Secrets, and custom resources that
// have a role with the label.
func TestAccountReadsEverythingButSecrets(t *testing.T) {
	cluster := deployed(t)
	allowWidgets(t, cluster)
	run := launch(t, cluster)
	run.AwaitReady(t)
	who := callersOf(t, cluster, run)
	for name, path := range served(t, cluster, "watch") {
		if !slices.Contains(unread, name) {
			told(t, who.certificate, path, http.StatusOK, "")
		}
	}
	told(t, who.certificate, widgets, http.StatusOK, "")
	told(t, who.certificate, "/apis/ex.io/v1/gadgets", http.StatusServiceUnavailable, notLet)
	told(t, who.certificate, "/api/v1/secrets", http.StatusNotImplemented, notHeld)
	told(t, who.token, "/api/v1/secrets", http.StatusOK, "SecretList")
	testkit.Eventually(t, "all lanes are synced, except those without a right", func() error {
		for _, lane := range run.Lanes() {
			if !lane.Synced && lane.Resource != "gadgets" {
				return fmt.Errorf("%s.%s is not synced", lane.Resource, lane.Group)
			}
		}
		return nil
	})
}

// Each rule is needed. Without it its resources are not cached, and only callers with a token can read them, with their
// own rights.
func TestEachRuleIsNeeded(t *testing.T) {
	cluster := deployed(t)
	paths := served(t, cluster, "watch")
	run := launch(t, cluster)
	run.AwaitReady(t)
	who := callersOf(t, cluster, run)
	for _, role := range of[rbacv1.ClusterRole](t, build(t, cluster, "base"), "ClusterRole") {
		if role.Labels[readerLabel] == "" || slices.Contains([]string{discovering, measuring, defining}, role.Name) {
			continue
		}
		for i, rule := range role.Rules {
			t.Run(fmt.Sprintf("%s of %q", role.Name, rule.APIGroups), func(t *testing.T) {
				without(t, cluster, role.Name, i)
				awaitRight(t, cluster, accountUser, false, listing(rule.APIGroups[0], rule.Resources[0]))
				for _, name := range slices.DeleteFunc(names(rule), readAnyway) {
					told(t, who.certificate, paths[name], http.StatusServiceUnavailable, notLet)
					told(t, who.token, paths[name], http.StatusOK, "")
				}
			})
		}
	}
}

// readAnyway are resources that every service account may read.
func readAnyway(name string) bool { return name == "clustertrustbundles.certificates.k8s.io" }

// The roles whose rules are needed for other reasons than to read their resources.
const (
	discovering = "listfacade-reader-discovery"
	measuring   = "listfacade-reader-metrics"
	defining    = "listfacade-reader-definitions"
)

// Without their definitions the selectable fields of custom resources are unknown. The cache then does not answer
// requests with such field selectors.
func TestDefinitionsAreNeeded(t *testing.T) {
	cluster := deployed(t)
	allowWidgets(t, cluster)
	const byField = widgets + "?resourceVersion=0&fieldSelector=spec.color%3Dred"
	for _, may := range []bool{true, false} {
		if !may {
			without(t, cluster, defining, 0)
			awaitRight(t, cluster, accountUser, false, listing("apiextensions.k8s.io", "customresourcedefinitions"))
		}
		run := launch(t, cluster)
		who := callersOf(t, cluster, run)
		told(t, who.certificate, widgets, http.StatusOK, "WidgetList")
		testkit.Eventually(t, "widgets are cached", func() error {
			for _, lane := range run.Lanes() {
				if lane.Resource == "widgets" && lane.Synced {
					return nil
				}
			}
			return errors.New("they are not cached")
		})
		answer := who.certificate.MustAsk(t, testkit.Question{Path: byField})
		// Only kube-apiserver's answers have a header with the flow schema.
		if cached := answer.Code == http.StatusOK && answer.Header.Get("X-Kubernetes-Pf-Flowschema-Uid") == ""; cached != may {
			t.Errorf("with the right to read definitions %t: answered from the cache %t", may, cached)
		}
		if answer.Code != http.StatusOK {
			t.Errorf("with the right to read definitions %t: got %d %s", may, answer.Code, answer.Body)
		}
	}
}

// Without APIServices the facade cannot distinguish a custom resource from a resource of an aggregated server, which
// may answer each caller differently.
func TestAPIServicesAreNeeded(t *testing.T) {
	cluster := deployed(t)
	allowWidgets(t, cluster)
	without(t, cluster, defining, 1)
	awaitRight(t, cluster, accountUser, false, listing("apiregistration.k8s.io", "apiservices"))
	who := callersOf(t, cluster, launch(t, cluster))
	told(t, who.certificate, widgets, http.StatusNotImplemented, notHeld)
	told(t, who.token, widgets, http.StatusOK, "WidgetList")
	told(t, who.certificate, "/api/v1/pods", http.StatusOK, "")
}

// In a cluster without the default right to read discovery, the facade needs its own. Without it the facade is not
// ready.
func TestDiscoveryIsNeeded(t *testing.T) {
	cluster := deployed(t)
	for _, name := range []string{"system:discovery", "system:public-info-viewer", "system:basic-user"} {
		unbind(t, cluster, name)
	}
	discovery := authorizationv1.SubjectAccessReviewSpec{
		Groups:                []string{"system:authenticated", "system:serviceaccounts"},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/apis"},
	}
	stranger := "system:serviceaccount:default:stranger"
	awaitRight(t, cluster, stranger, false, discovery)
	launch(t, cluster).AwaitReady(t)

	without(t, cluster, discovering, 0)
	awaitRight(t, cluster, accountUser, false, discovery)
	run := launch(t, cluster)
	admin, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	asker, err := testkit.NewAsker(through(run, admin))
	if err != nil {
		t.Fatal(err)
	}
	told(t, asker, "/readyz?verbose", http.StatusInternalServerError, "[-]discovery failed")
}

// Without the right to create reviews the facade refuses all callers and is not ready.
func TestDelegationIsNeeded(t *testing.T) {
	cluster := deployed(t)
	unbind(t, cluster, "listfacade:auth-delegator")
	awaitRight(t, cluster, accountUser, false, creating("authorization.k8s.io", "subjectaccessreviews"))
	who := callersOf(t, cluster, launch(t, cluster))
	told(t, who.token, "/api/v1/pods", http.StatusServiceUnavailable, unknown)
	told(t, who.certificate, "/api/v1/pods", http.StatusServiceUnavailable, unknown)
	told(t, who.certificate, "/readyz?verbose", http.StatusInternalServerError, "[-]authorization failed")
}

// Without the published authorities client certificates are not accepted. Tokens are reviewed as usual.
func TestAuthoritiesAreNeeded(t *testing.T) {
	cluster := deployed(t)
	bindings := administrator(t, cluster).RbacV1().RoleBindings("kube-system")
	const name = "listfacade:extension-apiserver-authentication-reader"
	was, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bindings.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		was.ResourceVersion = ""
		if _, err := bindings.Create(context.Background(), was, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	without(t, cluster, "listfacade-reader-builtin", 0) // ConfigMaps are readable by that, too
	awaitRight(t, cluster, accountUser, false, authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Namespace: "kube-system", Resource: "configmaps", Name: "extension-apiserver-authentication",
		},
	})
	who := callersOf(t, cluster, launch(t, cluster))
	told(t, who.token, "/api/v1/pods", http.StatusOK, "PodList")
	told(t, who.certificate, "/api/v1/pods", http.StatusForbidden, `User \"system:anonymous\"`)
}

func creating(group, resource string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: group, Resource: resource},
	}
}

// unbind removes a binding until the test ends.
func unbind(t *testing.T, cluster *testkit.Cluster, name string) {
	t.Helper()
	bindings := administrator(t, cluster).RbacV1().ClusterRoleBindings()
	was, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
	if err == nil {
		err = bindings.Delete(t.Context(), name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		was.ResourceVersion = ""
		_, err := bindings.Create(context.Background(), was, metav1.CreateOptions{})
		if err != nil {
			t.Error(errors.Join(fmt.Errorf("restore binding %s", name), err))
		}
	})
}
