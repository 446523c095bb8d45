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

// own makes a user for a facade of its own, who may read, and may not ask about others. It
// returns his kubeconfig.
func (p *place) own(t *testing.T) (user, kubeconfig string) {
	t.Helper()
	user = somebody()
	p.grant(t, user, "read-all-but-secrets")
	return user, testkit.WriteKubeconfig(t, p.cluster.ConfigOf(t, user))
}

const delegator = "system:auth-delegator"

// grant gives a user a role of the whole cluster; withdraw takes it away.
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

// ready is nil while the facade says that it is.
func ready(t *testing.T, o *testkit.Oracle) error {
	t.Helper()
	answer := o.Facade.MustAsk(t, testkit.Question{Path: "/readyz?verbose"})
	if answer.Code != http.StatusOK {
		return errors.New(string(answer.Body))
	}
	return nil
}

// Test37DelegationWithdrawn takes from the facade's user the right to ask about others: who is not known is told to
// come back, watches go on, the metrics say so, and it passes without a restart.
func Test37DelegationWithdrawn(t *testing.T) {
	p := newPlace(t, suite.Cluster(t))
	user, kubeconfig := p.own(t)
	p.grant(t, user, delegator)
	// Certificates count by a file: he may not read what the cluster publishes.
	run := suite.LaunchDelegating(t, kubeconfig, func(c *facade.Config) {
		c.Authentication.ClientCAFile = p.cluster.Authorities[testkit.ClientCA].CertFile
		c.Authentication.TokenTTL, c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = time.Second, time.Second, time.Second
		c.Authorization.WatchReauthorize = time.Second
		c.Authorization.AlwaysAllowGroups = []string{"system:masters"} // who reads the metrics meanwhile
	})
	run.AwaitReady(t)
	p.addRole(t)
	who := somebody()
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
	testkit.Eventually(t, "nobody can be asked", func() error {
		return errors.Join(isGeneric(token()), isGeneric(certified.Facade.MustAsk(t, q)))
	})
	testkit.Eventually(t, "reviews of the watch's lease fail, and it goes on", func() error {
		x.tells(t, time.Now().String())
		if !unavailable(admin.Facade.MustAsk(t, testkit.Question{Path: "/metrics"})) {
			return errors.New("no metric tells of it")
		}
		return nil
	})
	x.tells(t, "still")
	must(t, ready(t, admin))
	p.grant(t, user, delegator)
	testkit.Eventually(t, "everybody is answered", func() error {
		return errors.Join(wants(token().Code, http.StatusOK), wants(certified.Facade.MustAsk(t, q).Code, http.StatusOK))
	})
	x.tells(t, "over")
}

// unavailable tells whether metrics say of both kinds of reviews that they were not answered.
func unavailable(metrics *testkit.Answer) bool {
	has := func(review string) bool {
		return strings.Contains(string(metrics.Body), `listfacade_review_duration_seconds_count{result="unavailable",review="`+review+`"}`)
	}
	return has("token") && has("request") && has("watch")
}

// Test37NotDelegated: a facade whose user may not ask about others is not ready before he may, and it is so from then
// on.
func Test37NotDelegated(t *testing.T) {
	p := newPlace(t, suite.Cluster(t))
	user, kubeconfig := p.own(t)
	run := suite.LaunchDelegating(t, kubeconfig)
	admin := p.askers(t, run, p.Config)
	testkit.Eventually(t, "the log says why", func() error {
		if run.Logs.FilterMessageSnippet(delegator).Len() == 0 {
			return errors.New("nothing")
		}
		return nil
	})
	testkit.Eventually(t, "it waits for nothing else", func() error {
		err := ready(t, admin)
		if err == nil {
			t.Fatal("it is ready")
		}
		if strings.Count(err.Error(), "[-]") != 1 || !strings.Contains(err.Error(), "[-]authorization") {
			return err
		}
		return nil
	})
	p.grant(t, user, delegator)
	testkit.Eventually(t, "it is ready", func() error { return ready(t, admin) })
	p.withdraw(t, user, delegator)
	strangers := p.askers(t, run, p.cluster.ConfigOf(t, somebody())).Facade
	testkit.Eventually(t, "the facade may not ask any more", func() error {
		return isGeneric(strangers.MustAsk(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, somebody())}))
	})
	must(t, ready(t, admin))
}
