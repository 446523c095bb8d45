package deploy

import (
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kube-apiserver identifies the users of the testkit's certificates. All tests of identities depend on that.
func TestCertificatesIdentify(t *testing.T) {
	cluster := suite.Cluster(t)
	ca := cluster.Authority(t, testkit.ClientCA)
	intermediate := ca.Certify(t, testkit.Certificate{User: "intermediate", IsAuthority: true})
	chained := testkit.AuthorityOf(t, intermediate).Certify(t, testkit.Certificate{User: "chained"})
	chained.CertData = slices.Concat(chained.CertData, intermediate.CertData)
	foreign := testkit.NewAuthority(t, "foreign")
	for _, c := range []struct {
		name string
		pair testkit.KeyPair
		want string // "": refused
	}{
		{"a user", ca.Certify(t, testkit.Certificate{User: "bob", Groups: []string{"team"}}), "bob"},
		{"through an intermediate authority", chained, "chained"},
		{"expired", ca.Certify(t, testkit.Certificate{User: "bob", Until: time.Now().Add(-time.Minute)}), ""},
		{"not yet valid", ca.Certify(t, testkit.Certificate{User: "bob", From: time.Now().Add(time.Minute)}), ""},
		{"of a foreign authority", foreign.Certify(t, testkit.Certificate{User: "bob"}), ""},
		{"of a server", ca.Certify(t, testkit.Certificate{User: "bob", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			user, err := testkit.WhoAmI(t, cluster.ConfigWith(c.pair))
			switch {
			case c.want == "" && !apierrors.IsUnauthorized(err):
				t.Errorf("got %+v, %v", user, err)
			case c.want != "" && (err != nil || user.Username != c.want):
				t.Errorf("got %+v, %v", user, err)
			}
		})
	}
	user, err := testkit.WhoAmI(t, cluster.ConfigOf(t, "carol", "one", "two"))
	if err != nil || !slices.Contains(user.Groups, "one") || !slices.Contains(user.Groups, "two") {
		t.Errorf("groups are %v, %v", user.Groups, err)
	}
}

// kube-apiserver accepts identity headers from a front proxy only.
func TestOnlyFrontProxyMayNameUser(t *testing.T) {
	cluster := suite.Cluster(t)
	proxies := cluster.Authority(t, testkit.FrontProxyCA)
	saying := func(pair testkit.KeyPair) *rest.Config {
		config := cluster.ConfigWith(pair)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return transport.NewAuthProxyRoundTripper("dave", "", []string{"readers"}, nil, next)
		})
		return config
	}
	user, err := testkit.WhoAmI(t, saying(proxies.Certify(t, testkit.Certificate{User: testkit.FrontProxyName})))
	if err != nil || user.Username != "dave" || !slices.Contains(user.Groups, "readers") {
		t.Errorf("got %+v, %v", user, err)
	}
	if user, err := testkit.WhoAmI(t, saying(proxies.Certify(t, testkit.Certificate{User: "another-proxy"}))); err == nil {
		t.Errorf("a proxy with another name: got %+v, want the headers ignored", user)
	}
	users := cluster.Authority(t, testkit.ClientCA)
	if user, err := testkit.WhoAmI(t, saying(users.Certify(t, testkit.Certificate{User: "bob"}))); err != nil || user.Username != "bob" {
		t.Errorf("headers of a user: got %+v, %v", user, err)
	}
}

func TestTokensIdentify(t *testing.T) {
	cluster := suite.Cluster(t)
	fixture := suite.NewFixture(t, cluster)
	user, err := testkit.WhoAmI(t, cluster.ConfigWithToken(cluster.Token(t, fixture.Namespace, "robot", testkit.TokenOptions{})))
	if err != nil || user.Username != "system:serviceaccount:"+fixture.Namespace+":robot" {
		t.Errorf("got %+v, %v", user, err)
	}
	elsewhere := cluster.Token(t, fixture.Namespace, "robot", testkit.TokenOptions{Audiences: []string{"elsewhere"}})
	if user, err := testkit.WhoAmI(t, cluster.ConfigWithToken(elsewhere)); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token for another audience: got %+v, %v", user, err)
	}
	clients, err := kubernetes.NewForConfig(fixture.Config)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Spec: corev1.PodSpec{
		ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}},
	}}
	if pod, err = clients.CoreV1().Pods(fixture.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound := cluster.Token(t, fixture.Namespace, "robot", testkit.TokenOptions{Pod: pod.Name, Lifetime: 10 * time.Minute})
	user, err = testkit.WhoAmI(t, cluster.ConfigWithToken(bound))
	if uid := user.Extra["authentication.kubernetes.io/pod-uid"]; err != nil || !slices.Equal(uid, []string{string(pod.UID)}) {
		t.Errorf("got %+v, %v", user, err)
	}
}

// A kubeconfig of the testkit contains the token of its configuration.
func TestKubeconfigContainsToken(t *testing.T) {
	cluster := suite.Cluster(t)
	token := cluster.Token(t, "default", "robot", testkit.TokenOptions{})
	kubectl := testkit.NewKubectl(t, cluster.Binaries["kubectl"], cluster.ConfigWithToken(token))
	if out := kubectl.Run(t, "auth", "whoami"); !strings.Contains(out, "system:serviceaccount:default:robot") {
		t.Error(out)
	}
}
