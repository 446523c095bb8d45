package revocation

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// own creates a user for a separate facade, with the right to read and without the right to send reviews. It returns
// the user and its kubeconfig.
func (p *place) own(t *testing.T) (user, kubeconfig string) {
	t.Helper()
	user = newUser()
	p.grant(t, user, "read-all-but-secrets")
	return user, testkit.WriteKubeconfig(t, p.cluster.ConfigOf(t, user))
}

const delegator = "system:auth-delegator"

// grant binds a ClusterRole to a user; withdraw deletes the binding.
func (p *place) grant(t *testing.T, user, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role}, Subjects: []rbacv1.Subject{aUser(user)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	_, err := p.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	must(t, err)
}

func (p *place) withdraw(t *testing.T, user, role string) {
	t.Helper()
	must(t, p.admin.RbacV1().ClusterRoleBindings().Delete(t.Context(), user+"-"+role, metav1.DeleteOptions{}))
}

// ready returns nil if the facade is ready.
func ready(t *testing.T, o *testkit.Oracle) error {
	t.Helper()
	answer := o.Facade.MustAsk(t, testkit.Question{Path: "/readyz?verbose"})
	if answer.Code != http.StatusOK {
		return errors.New(string(answer.Body))
	}
	return nil
}

// The test removes the facade user's right to send reviews. Callers without cached reviews are asked to retry, watches
// continue, and metrics count the failures. When the right returns, the facade recovers without a restart.
func TestWatchesContinueWhenDelegationIsWithdrawn(t *testing.T) {
	p := newPlace(t, suite.Cluster(t))
	user, kubeconfig := p.own(t)
	p.grant(t, user, delegator)
	// The client CA comes from a file, because this user may not read the ConfigMap of the cluster.
	run := suite.LaunchDelegating(t, kubeconfig, func(c *facade.Config) {
		c.Authentication.ClientCAFile = p.cluster.Authorities[testkit.ClientCA].CertFile
		c.Authentication.TokenTTL, c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = time.Second, time.Second, time.Second
		c.Authorization.WatchReauthorize = time.Second
		c.Authorization.AlwaysAllowGroups = []string{"system:masters"} // for the user that reads the metrics
	})
	run.AwaitReady(t)
	p.addRole(t)
	who := newUser()
	p.bind(t, "Role", reader, aUser(who), aGroup(p.accounts()))
	certified := p.askers(t, run, p.cluster.ConfigOf(t, who))
	admin := p.askers(t, run, p.Config)
	q := testkit.Question{Path: suite.Collection(suite.ConfigMaps, p.Namespace)}
	token := func() *testkit.Answer {
		return p.askers(t, run, p.bearer(t, "robot", testkit.TokenOptions{})).Facade.MustAsk(t, q)
	}
	x := p.watch(t, certified, ways["JSON"])
	before := admin.Facade.MustAsk(t, testkit.Question{Path: "/metrics"})
	if before.Code != http.StatusOK || unavailable(before) {
		t.Errorf("metrics before: %d, %t", before.Code, unavailable(before))
	}
	p.withdraw(t, user, delegator)
	testkit.Eventually(t, "reviews fail", func() error {
		return errors.Join(isGeneric(token()), isGeneric(certified.Facade.MustAsk(t, q)))
	})
	testkit.Eventually(t, "reviews of the watch's authorization fail, and the watch continues", func() error {
		x.tells(t, time.Now().String())
		if !unavailable(admin.Facade.MustAsk(t, testkit.Question{Path: "/metrics"})) {
			return errors.New("no metric counts the failed reviews")
		}
		return nil
	})
	x.tells(t, "still")
	must(t, ready(t, admin))
	p.grant(t, user, delegator)
	testkit.Eventually(t, "all callers are answered", func() error {
		return errors.Join(wants(token().Code, http.StatusOK), wants(certified.Facade.MustAsk(t, q).Code, http.StatusOK))
	})
	x.tells(t, "after")
}

// unavailable reports whether the metrics count failed reviews of each kind.
func unavailable(metrics *testkit.Answer) bool {
	has := func(review string) bool {
		return strings.Contains(string(metrics.Body), `listfacade_review_duration_seconds_count{result="unavailable",review="`+review+`"}`)
	}
	return has("token") && has("request") && has("watch")
}

// A facade is not ready until its user may send reviews. It stays ready when that right is removed later.
func TestFacadeIsNotReadyWithoutDelegation(t *testing.T) {
	p := newPlace(t, suite.Cluster(t))
	user, kubeconfig := p.own(t)
	run := suite.LaunchDelegating(t, kubeconfig)
	admin := p.askers(t, run, p.Config)
	testkit.Eventually(t, "the log names the missing role", func() error {
		if run.Logs.FilterMessageSnippet(delegator).Len() == 0 {
			return errors.New("no log line names it")
		}
		return nil
	})
	testkit.Eventually(t, "only the authorization check fails", func() error {
		err := ready(t, admin)
		if err == nil {
			t.Fatal("the facade is ready, want not ready")
		}
		if strings.Count(err.Error(), "[-]") != 1 || !strings.Contains(err.Error(), "[-]authorization") {
			return err
		}
		return nil
	})
	p.grant(t, user, delegator)
	testkit.Eventually(t, "the facade is ready", func() error { return ready(t, admin) })
	p.withdraw(t, user, delegator)
	strangers := p.askers(t, run, p.cluster.ConfigOf(t, newUser())).Facade
	testkit.Eventually(t, "reviews fail", func() error {
		return isGeneric(strangers.MustAsk(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, newUser())}))
	})
	must(t, ready(t, admin))
}
