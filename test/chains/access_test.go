package chains

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The last of three facades authenticates and authorizes callers like kube-apiserver, although it sends its reviews to
// the facade before it. Forwarded requests reach kube-apiserver with the caller's identity.
func TestChainAuthorizesCallersLikeUpstream(t *testing.T) {
	cluster := suite.Cluster(t)
	s := suite.NewFixture(t, cluster)
	s.Put(t, suite.ConfigMaps, "there", "t=a", "1")
	token := facadeToken(t, cluster, s)
	last := suite.StartDelegating(t, cluster)
	for range 2 {
		config := cluster.ConfigWithToken(token)
		config.Host, config.CAFile = last.URL, last.Config.CAFile
		last = suite.LaunchDelegating(t, testkit.WriteKubeconfig(t, config))
		last.AwaitReady(t)
	}
	callers := map[string]*rest.Config{
		"token": cluster.ConfigWithToken(cluster.Token(t, s.Namespace, "robot", testkit.TokenOptions{})), "facade's token": cluster.ConfigWithToken(token),
		"bad token": cluster.ConfigWithToken("unknown"),
	}
	for _, user := range []string{"admin", "alice", "reader"} {
		config, err := cluster.Config(user)
		if err != nil {
			t.Fatal(err)
		}
		callers[user] = config
	}
	for name, config := range callers {
		t.Run(name, func(t *testing.T) {
			oracle := last.As(t, config)
			for _, path := range []string{
				suite.Collection(suite.ConfigMaps, s.Namespace), suite.Collection(suite.ConfigMaps, s.Namespace) + "/there",
				"/api/v1/namespaces/team-a/pods", suite.Collection(suite.Namespaces, ""), "/apis/apps/v1/deployments", "/version",
			} {
				filled(t, oracle.Facade, testkit.Question{Path: path})
				oracle.Compare(t, testkit.Question{Path: path})
			}
			if config.BearerToken != "" { // the first facade answers 501 to callers with a certificate
				oracle.Compare(t, testkit.Question{Path: fmt.Sprintf("/api/v1/namespaces/%s/secrets", s.Namespace)})
			}
		})
	}
}

// facadeToken returns a token of a service account with the rights of a facade.
func facadeToken(t *testing.T, cluster *testkit.Cluster, s *suite.Fixture) string {
	t.Helper()
	token := cluster.Token(t, s.Namespace, "facade", testkit.TokenOptions{})
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"system:auth-delegator", "read-all-but-secrets"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + role[len(role)-7:]},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "facade"}},
		}
		if _, err := clients.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubeSystem := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Namespace: "kube-system"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "facade"}},
	}
	if _, err := clients.RbacV1().RoleBindings("kube-system").Create(t.Context(), kubeSystem, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return token
}

// A facade whose upstream is itself logs that, and still answers requests.
func TestFacadeDetectsItselfAsUpstream(t *testing.T) {
	address := suite.FreeAddress(t)
	f := suite.NewFacade(t, testkit.WriteInsecureKubeconfig(t, "https://"+address), at(t, address))
	f.Listen(t)
	asker, err := testkit.NewAsker(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/pods", "/api/v1/nodes/a", "/version", "/openapi/v2", "/apis/none", "/api/v1/namespaces/a/pods/b/log"} {
		answer := asker.MustAsk(t, testkit.Question{Path: path})
		if answer.Code < http.StatusInternalServerError {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	testkit.Eventually(t, "the log names the loop", func() error {
		for _, entry := range f.Logs.All() {
			if cause, ok := entry.ContextMap()["error"].(string); ok && loops(cause) {
				return nil
			}
		}
		return fmt.Errorf("the log has %v", f.Logs.All())
	})
}

func loops(cause string) bool {
	return strings.Contains(cause, "reports a loop of listfacades")
}

func at(t *testing.T, address string) func(*facade.Config) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *facade.Config) { c.Port = number }
}
