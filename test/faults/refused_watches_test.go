package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reviewless is a kube-apiserver that reviews nothing while it is set.
type reviewless struct {
	http.Handler
	set atomic.Bool
}

// ServeHTTP implements http.Handler.
func (u *reviewless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u.set.Load() && r.Method == http.MethodPost && strings.Contains(r.URL.Path, "reviews") {
		http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
		return
	}
	u.Handler.ServeHTTP(w, r)
}

// An informer moves to a facade that cannot check its permission for longer than a client retries a request. It opens
// its watch again and again, and sends no list.
func TestRefusedWatchesSendNoLists(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	user := mayRead(t, s, "waiting")
	s.Put(t, suite.ConfigMaps, "before", "", "")
	upstream := &reviewless{Handler: suite.Forward(t, suite.FacadeConfig(t, suite.Cluster(t)))}
	run := suite.LaunchDelegating(t, suite.Serve(t, upstream))
	run.AwaitReady(t)
	m, counted, refused := newMover(t), new(lists), new(atomic.Int64)
	m.move(t, user)
	m.config.Wrap(counted.around)
	m.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrips(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode != http.StatusOK {
				refused.Add(1)
			}
			return response, err
		})
	})
	informer := informers.NewSharedInformerFactoryWithOptions(suite.NewClients(t, m.config).Typed, 0,
		informers.WithNamespace(s.Namespace)).Core().V1().ConfigMaps().Informer()
	suite.StartInformer(t, informer)
	s.Converges(t, suite.ConfigMaps, informer)
	listed := counted.count()

	<-time.After(settled) //pace: client-go lists again after a watch that ends within its first second
	upstream.set.Store(true)
	m.leave()
	s.Put(t, suite.ConfigMaps, "meanwhile", "", "")
	m.move(t, run.ConfigOf(user))
	testkit.Eventually(t, "the watch was refused more often than the client retries", func() error {
		if n := refused.Load(); n <= clientRetries+1 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	upstream.set.Store(false)
	s.Converges(t, suite.ConfigMaps, informer)
	if n := counted.count() - listed; n > 0 {
		t.Errorf("the informer sent %d lists: %v", n, counted.asked[listed:])
	}
}

// clientRetries is the number of times that client-go repeats a refused request (semantics 9.2).
const clientRetries = 10

// mayRead returns the configuration of a user who may list and watch the ConfigMaps of the fixture's namespace.
func mayRead(t *testing.T, s *suite.Fixture, name string) *rest.Config {
	t.Helper()
	admin, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients.RbacV1().Roles(s.Namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clients.RbacV1().RoleBindings(s.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return suite.Cluster(t).ConfigOf(t, name)
}
