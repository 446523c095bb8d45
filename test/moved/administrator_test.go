package moved

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// administratorAccount is an account with all rights, in the namespace default.
const administratorAccount = "moved-administrator"

// administrator returns its token. Programs in a cluster have tokens.
func administrator(t *testing.T, cluster *testkit.Cluster) string {
	t.Helper()
	token := cluster.Token(t, metav1.NamespaceDefault, administratorAccount, testkit.TokenOptions{})
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	_, err = suite.NewClients(t, config).Typed.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: administratorAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: administratorAccount}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	clients := suite.NewClients(t, cluster.ConfigWithToken(token)).Typed
	testkit.Eventually(t, "the account has its rights", func() error {
		_, err := clients.CoreV1().Secrets(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
		return err
	})
	return token
}

// serve serves a handler until the test ends, and returns its URL and the file of its authority.
func serve(t *testing.T, handler http.Handler) (url, caFile string) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	caFile = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, caFile
}

// errNotYet is returned while a program is not where a test waits for it.
var errNotYet = errors.New("not yet")
