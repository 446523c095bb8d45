package split

import (
	"context"
	"net"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/split"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// site is a proxy in front of a facade and the shared cluster, with a counting server in front of each.
type site struct {
	cluster          *testkit.Cluster
	admin            kubernetes.Interface // at kube-apiserver itself
	facade           *suite.Facade
	reads, apiServer *counted
	url              string
}

// open starts a site until the test ends. The proxy's certificate has the cluster's authority, so clients change only
// their server's address.
func open(t *testing.T, changes ...func(*split.Options)) *site {
	t.Helper()
	s := &site{cluster: suite.Cluster(t)}
	config, err := s.cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if s.admin, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.facade = suite.LaunchDelegating(t, suite.FacadeKubeconfig(t, s.cluster)) // may read custom resources, too
	s.facade.AwaitReady(t)
	s.reads, s.apiServer = count(t, s.facade.URL), count(t, s.cluster.Server)
	o := split.DefaultOptions()
	o.KubeAPIServer, o.KubeAPIServerCAFile = s.apiServer.URL, s.apiServer.caFile
	o.Facades, o.FacadeCAFile, o.MetricsAddress = []string{s.reads.URL}, s.reads.caFile, ""
	o.Serving.CertFile, o.Serving.KeyFile = s.cluster.Serving.CertFile, s.cluster.Serving.KeyFile
	o.Serving.ShutdownDelay, o.Serving.WatchTermination, o.Serving.ShutdownGrace = 0, 0, 0
	for _, change := range changes {
		change(&o)
	}
	s.url = serve(t, o)
	return s
}

// serve runs a proxy until the test ends, and returns its URL.
func serve(t *testing.T, o split.Options) string {
	t.Helper()
	proxy, err := split.New(o, zaptest.NewLogger(t, zaptest.Level(zap.InfoLevel)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proxy.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "https://" + listener.Addr().String()
}

// client returns the configuration of a client of the proxy: a service account with all rights.
func (s *site) client(t *testing.T, account string) *rest.Config {
	t.Helper()
	config := s.cluster.ConfigWithToken(s.cluster.Token(t, metav1.NamespaceSystem, account, testkit.TokenOptions{}))
	_, err := s.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "split-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: account}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the account has its rights", func() error {
		_, err := clients.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{Limit: 1})
		return err
	})
	config.Host = s.url
	return config
}
