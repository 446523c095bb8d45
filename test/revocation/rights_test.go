package revocation

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The test deletes the binding under each kind of watch, then changes the watched object.
func TestWatchEndsWhenRoleBindingIsDeleted(t *testing.T) {
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	for name, w := range ways {
		t.Run(name, func(t *testing.T) { // not parallel: the test counts changes of rights
			p := newPlace(t, suite.Cluster(t))
			p.addRole(t)
			p.bind(t, "Role", reader, p.anAccount("robot"))
			robot := p.bearer(t, "robot", testkit.TokenOptions{})
			x := p.watch(t, p.askers(t, run, robot), w.with(robot.BearerToken))
			x.loses(t, func() { p.unbind(t) })
			x.refused(t, http.StatusForbidden)
		})
	}
}

// The test removes the right to watch in each way that RBAC has.
func TestWatchEndsWhenRightsShrink(t *testing.T) {
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	for name, c := range map[string]struct {
		give, take func(*testing.T, *place, string)
	}{
		"a ClusterRole whose rules shrink": {
			func(t *testing.T, p *place, who string) { p.bind(t, "ClusterRole", p.addClusterRole(t), aUser(who)) },
			func(t *testing.T, p *place, _ string) {
				const pods = `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]}`
				_, err := p.admin.RbacV1().ClusterRoles().Patch(t.Context(), reader+"-"+p.Namespace, types.MergePatchType, []byte(pods), metav1.PatchOptions{})
				must(t, err)
			},
		},
		"a ClusterRole that is deleted": {
			func(t *testing.T, p *place, who string) { p.bind(t, "ClusterRole", p.addClusterRole(t), aUser(who)) },
			func(t *testing.T, p *place, _ string) {
				must(t, p.admin.RbacV1().ClusterRoles().Delete(t.Context(), reader+"-"+p.Namespace, metav1.DeleteOptions{}))
			},
		},
		"a group's binding": {
			func(t *testing.T, p *place, who string) {
				p.addRole(t)
				p.bind(t, "Role", reader, aGroup("team-of-"+who))
			},
			func(t *testing.T, p *place, _ string) { p.unbind(t) },
		},
		"a subject of a binding": {
			func(t *testing.T, p *place, who string) {
				p.addRole(t)
				p.bind(t, "Role", reader, aUser(who), aUser("other"))
			},
			func(t *testing.T, p *place, _ string) {
				const others = `{"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"other"}]}`
				_, err := p.admin.RbacV1().RoleBindings(p.Namespace).Patch(t.Context(), reader, types.MergePatchType, []byte(others), metav1.PatchOptions{})
				must(t, err)
			},
		},
		"a ClusterRoleBinding": {
			func(t *testing.T, p *place, who string) {
				binding := &rbacv1.ClusterRoleBinding{
					ObjectMeta: metav1.ObjectMeta{Name: p.Namespace}, Subjects: []rbacv1.Subject{aUser(who)},
					RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.addClusterRole(t)},
				}
				_, err := p.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
				must(t, err)
			},
			func(t *testing.T, p *place, _ string) {
				must(t, p.admin.RbacV1().ClusterRoleBindings().Delete(t.Context(), p.Namespace, metav1.DeleteOptions{}))
			},
		},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: the test counts changes of rights
			p, who := newPlace(t, suite.Cluster(t)), newUser()
			c.give(t, p, who)
			x := p.watch(t, p.askers(t, run, p.cluster.ConfigOf(t, who, "team-of-"+who)), ways["JSON"])
			x.loses(t, func() { c.take(t, p, who) })
			x.refused(t, http.StatusForbidden)
		})
	}
}

// Two users have the same right by different bindings. Deleting one binding ends only one of the watches.
func TestWatchContinuesWhenAnotherUserLosesTheRight(t *testing.T) {
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	p := newPlace(t, suite.Cluster(t))
	p.addRole(t)
	p.bind(t, "Role", reader, aUser("leaver-"+p.Namespace))
	stays := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "stays"}, Subjects: []rbacv1.Subject{aUser("stayer-" + p.Namespace)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader},
	}
	_, err := p.admin.RbacV1().RoleBindings(p.Namespace).Create(t.Context(), stays, metav1.CreateOptions{})
	must(t, err)
	leaver := p.watch(t, p.askers(t, run, p.cluster.ConfigOf(t, "leaver-"+p.Namespace)), ways["JSON"])
	stayer := p.watch(t, p.askers(t, run, p.cluster.ConfigOf(t, "stayer-"+p.Namespace)), ways["JSON"])
	leaver.loses(t, func() { p.unbind(t) })
	stayer.tells(t, "still")
}

// A user watches in two namespaces. If the right to one of them ends, the watch of the other one is not even reviewed.
// An administrator of one namespace can therefore cause no reviews in another.
func TestRightsInOtherNamespacesAreNotReviewed(t *testing.T) {
	access, who := newReviews(t, suite.Cluster(t)), newUser()
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified, func(c *facade.Config) {
		c.Authorization.Kubeconfig = access.kubeconfig
	})
	var watches [2]*watched
	for i := range watches {
		p := newPlace(t, suite.Cluster(t))
		p.addRole(t)
		p.bind(t, "Role", reader, aUser(who), aGroup("system:authenticated"))
		watches[i] = p.watch(t, p.askers(t, run, p.cluster.ConfigOf(t, who)), ways["JSON"])
	}
	stays, leaves, since := watches[0], watches[1], time.Now()
	leaves.loses(t, func() { leaves.place.unbind(t) })
	stays.tells(t, "still")
	reviewed := map[*watched]int{}
	for body := range access.confirmed(since) {
		for _, w := range watches {
			if strings.Contains(body, fmt.Sprintf("%q:%q", "namespace", w.place.Namespace)) {
				reviewed[w]++
			}
		}
	}
	if reviewed[leaves] != 1 || reviewed[stays] != 0 {
		t.Errorf("got %d reviews of the lost right and %d of the other, want 1 and 0", reviewed[leaves], reviewed[stays])
	}
}

// A cached refusal is dropped when a new binding gives the right.
func TestListIsAllowedAfterRoleBindingIsAdded(t *testing.T) {
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	p, who := newPlace(t, suite.Cluster(t)), newUser()
	p.addRole(t)
	o := p.askers(t, run, p.cluster.ConfigOf(t, who))
	q := testkit.Question{Path: suite.Collection(suite.ConfigMaps, p.Namespace)}
	if answer := o.Compare(t, q); answer.Code != http.StatusForbidden {
		t.Fatalf("got %d before the binding exists, want 403", answer.Code)
	}
	p.bind(t, "Role", reader, aUser(who))
	testkit.Eventually(t, "the list is allowed", func() error {
		if code := o.Facade.MustAsk(t, q).Code; code != http.StatusOK {
			return fmt.Errorf("%d", code)
		}
		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
