package rbac

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// people are the users whose permissions may change.
var people = []user.Info{
	&user.DefaultInfo{Name: "alice", Groups: []string{"team", "system:authenticated"}},
	&user.DefaultInfo{Name: "bob", Groups: []string{"system:authenticated"}},
	&user.DefaultInfo{Name: "team"}, // a user with the name of a group
	&user.DefaultInfo{Name: "system:serviceaccount:a:default", Groups: []string{"system:serviceaccounts"}},
	&user.DefaultInfo{Name: "system:serviceaccount:b:default", Groups: []string{"system:serviceaccounts"}},
}

// namespaces are those of the requests whose permissions may change. The empty one stands for requests without a
// namespace and for those over all namespaces.
var namespaces = []string{"", "a", "b"}

// recorder records the calls of Rights: as "lost alice" for each user whose requests are all affected, and as
// `lost alice in "a"` for each user and namespace otherwise.
type recorder struct {
	mu  sync.Mutex // guards all
	all []string
}

// Gained implements Rights.
func (t *recorder) Gained(affected Affected) { t.note("gained", affected) }

// Lost implements Rights.
func (t *recorder) Lost(affected Affected) { t.note("lost", affected) }

func (t *recorder) note(what string, affected Affected) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, person := range people {
		report := what + " " + strings.TrimPrefix(person.GetName(), "system:serviceaccount:")
		var in []string
		for _, namespace := range namespaces {
			all, here := affected[""], affected[namespace]
			if all != nil && all(person) || here != nil && here(person) {
				in = append(in, fmt.Sprintf("%s in %q", report, namespace))
			}
		}
		if len(in) == len(namespaces) {
			in = []string{report}
		}
		t.all = append(t.all, in...)
	}
}

// take returns the calls since the last time, in alphabetical order.
func (t *recorder) take() string {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all
	t.all = nil
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// cluster contains the objects of the four kinds, which tests change.
type cluster struct {
	roles, clusterRoles, bindings, clusterBindings *cachetesting.FakeControllerSource
}

func newCluster(t *testing.T) cluster {
	return cluster{newSource(t), newSource(t), newSource(t), newSource(t)}
}

func newSource(t *testing.T) *cachetesting.FakeControllerSource {
	source := cachetesting.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	return source
}

func (c cluster) sources() sources {
	return sources{roles: c.roles, clusterRoles: c.clusterRoles, bindings: c.bindings, clusterBindings: c.clusterBindings}
}

func metaOf(name string) metav1.ObjectMeta {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		namespace, name = "", namespace
	}
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func rules(verbs ...string) (all []rbacv1.PolicyRule) {
	for _, verb := range verbs {
		all = append(all, rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}})
	}
	return all
}

func aRole(name string, verbs ...string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metaOf(name), Rules: rules(verbs...)}
}

func clusterRole(name string, verbs ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metaOf(name), Rules: rules(verbs...)}
}

// subject parses "user alice", "group team", "account a/default" or, for the namespace of the binding, "account
// default".
func subject(text string) rbacv1.Subject {
	kind, name, _ := strings.Cut(text, " ")
	switch kind {
	case "user":
		return rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}
	case "group":
		return rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: name}
	default:
		m := metaOf(name)
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: m.Namespace, Name: m.Name}
	}
}

func roleRef(to string) rbacv1.RoleRef {
	kind, name, _ := strings.Cut(to, " ")
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func bind(name, to string, subjects ...string) *rbacv1.RoleBinding {
	b := &rbacv1.RoleBinding{ObjectMeta: metaOf(name), RoleRef: roleRef(to)}
	for _, text := range subjects {
		b.Subjects = append(b.Subjects, subject(text))
	}
	return b
}

func clusterBind(name, to string, subjects ...string) *rbacv1.ClusterRoleBinding {
	b := bind(name, to, subjects...)
	return &rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta, RoleRef: b.RoleRef, Subjects: b.Subjects}
}

// TestChangesReportAffectedUsers makes one change after another, and compares the affected users.
func TestChangesReportAffectedUsers(t *testing.T) {
	type step struct {
		what string
		do   func(cluster)
		want string
	}
	steps := []step{
		{"a user's binding", func(c cluster) { c.bindings.Add(bind("a/x", "Role r", "user alice", "user bob")) },
			`gained alice in "a", gained bob in "a"`},
		{"its role", func(c cluster) { c.roles.Add(aRole("a/r", "get")) }, `gained alice in "a", gained bob in "a"`},
		{"a role by the same name elsewhere", func(c cluster) { c.roles.Add(aRole("b/r", "get")) }, ""},
		{"a cluster role by that name", func(c cluster) { c.clusterRoles.Add(clusterRole("r", "get")) }, ""},
		{"one rule more", func(c cluster) { c.roles.Modify(aRole("a/r", "get", "list")) },
			`gained alice in "a", gained bob in "a"`},
		{"other order", func(c cluster) { c.roles.Modify(aRole("a/r", "list", "get")) }, ""},
		{"one rule less", func(c cluster) { c.roles.Modify(aRole("a/r", "list")) }, `lost alice in "a", lost bob in "a"`},
		{"another rule", func(c cluster) { c.roles.Modify(aRole("a/r", "watch")) }, `lost alice in "a", lost bob in "a"`},
		{"a label", func(c cluster) {
			same := aRole("a/r", "watch")
			same.Labels = map[string]string{"a": "b"}
			c.roles.Modify(same)
		}, ""},
		{"another subject", func(c cluster) {
			c.bindings.Modify(bind("a/x", "Role r", "user alice", "group system:serviceaccounts"))
		}, `gained a:default in "a", gained b:default in "a", lost bob in "a"`},
		{"only a group", func(c cluster) { c.bindings.Modify(bind("a/x", "Role r", "group team")) },
			`gained alice in "a", lost a:default in "a", lost alice in "a", lost b:default in "a"`},
		{"service accounts", func(c cluster) { c.bindings.Modify(bind("a/x", "Role r", "account b/default", "account default")) },
			`gained a:default in "a", gained b:default in "a", lost alice in "a"`},
		{"another role", func(c cluster) { c.bindings.Modify(bind("a/x", "ClusterRole r", "account default")) },
			`gained a:default in "a", lost a:default in "a", lost b:default in "a"`},
		{"the same cluster role in another namespace", func(c cluster) { c.bindings.Add(bind("b/x", "ClusterRole r", "group team")) },
			`gained alice in "b"`},
		{"for the whole cluster", func(c cluster) {
			c.clusterBindings.Add(clusterBind("y", "ClusterRole r", "user bob", "account default"))
		}, "gained bob"},
		{"a rule less of that role", func(c cluster) { c.clusterRoles.Modify(clusterRole("r")) },
			`lost a:default in "a", lost alice in "b", lost bob`},
		{"the role is gone", func(c cluster) { c.clusterRoles.Delete(clusterRole("r")) },
			`lost a:default in "a", lost alice in "b", lost bob`},
		{"a binding in a namespace and in the cluster", func(c cluster) { c.bindings.Modify(bind("b/x", "ClusterRole r", "user bob")) },
			`gained bob in "b", lost alice in "b"`},
		{"their role", func(c cluster) { c.clusterRoles.Add(clusterRole("r", "get")) }, `gained a:default in "a", gained bob`},
		{"a role without bindings is gone", func(c cluster) { c.roles.Delete(aRole("a/r")) }, ""},
		{"the binding is gone", func(c cluster) { c.bindings.Delete(bind("a/x", "ClusterRole r", "account default")) },
			`lost a:default in "a"`},
		{"it moved to another namespace", func(c cluster) { c.bindings.Add(bind("b/z", "ClusterRole r", "account a/default")) },
			`gained a:default in "b"`},
		{"the binding in the cluster is gone", func(c cluster) { c.clusterBindings.Delete(clusterBind("y", "ClusterRole r", "user bob")) },
			"lost bob"},
		{"the role has only bindings in b", func(c cluster) { c.clusterRoles.Modify(clusterRole("r")) },
			`lost a:default in "b", lost bob in "b"`},
		{"a binding for everyone in a namespace", func(c cluster) { c.bindings.Add(bind("a/x", "Role none", "group system:authenticated")) },
			`gained alice in "a", gained bob in "a"`},
		{"that binding is gone", func(c cluster) { c.bindings.Delete(bind("a/x", "Role none", "group system:authenticated")) },
			`lost alice in "a", lost bob in "a"`},
	}
	following(t, func(cluster) {}, func(c cluster, reports *recorder) {
		for _, s := range steps {
			s.do(c)
			if got := reports.take(); got != s.want {
				t.Errorf("%s: got %q, want %q", s.what, got, s.want)
			}
		}
	})
}

// following runs a test with running Rules and a recorder of their reports.
func following(t *testing.T, fill func(cluster), test func(cluster, *recorder)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		c, reports := newCluster(t), &recorder{}
		fill(c)
		r, err := newRules(c.sources(), reports, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		if r.Failure() == nil {
			t.Error("got no failure before the first lists")
		}
		start(t, r.Run)
		<-time.After(settle)
		if got := reports.take(); got != "" {
			t.Errorf("got %s for objects of the initial lists, want nothing", got)
		}
		if err := r.Failure(); err != nil {
			t.Error(err)
		}
		test(c, reports)
	})
}

// Changes without a running watch are reported after the next list, deletions included.
func TestMissedChangesAreReported(t *testing.T) {
	fill := func(c cluster) {
		c.bindings.Add(bind("a/x", "Role r", "user alice"))
		c.clusterBindings.Add(clusterBind("y", "ClusterRole r", "user bob", "group team"))
	}
	following(t, fill, func(c cluster, reports *recorder) {
		c.bindings.DeleteDropWatch(bind("a/x", "Role r"))
		c.clusterBindings.ModifyDropWatch(clusterBind("y", "ClusterRole r", "group team"))
		if got := reports.take(); got != "" {
			t.Fatalf("got %q while no watch runs, want nothing", got)
		}
		c.bindings.ResetWatch()
		c.clusterBindings.ResetWatch()
		if got := eventually(reports); got != `lost alice in "a", lost bob` {
			t.Error(got)
		}
	})
}

// refusing is a source that the facade is not allowed to read.
type refusing struct{ toolscache.ListerWatcher }

// List implements toolscache.ListerWatcher.
func (refusing) List(metav1.ListOptions) (runtime.Object, error) { return nil, errForbidden }

// Watch implements toolscache.ListerWatcher.
func (refusing) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errForbidden }

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Group: rbacv1.GroupName, Resource: "rolebindings"}, "", fmt.Errorf("no"))

// If bindings cannot be read, Failure returns the error, and a change of a role affects no user. Their first list then
// affects the subjects of bindings whose roles have lost rules.
func TestFirstListOfBindingsFollowsRoleChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, reports := newCluster(t), &recorder{}
		from, bindings := c.sources(), &cuttable{FakeControllerSource: c.bindings}
		from.bindings = bindings
		bindings.set(unreadable)
		c.roles.Add(aRole("a/r", "get", "list"))
		c.bindings.Add(bind("a/x", "Role r", "user alice"))
		c.bindings.Add(bind("b/y", "Role r", "user bob"))
		r, err := newRules(from, reports, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		start(t, r.Run)
		synctest.Wait()
		if err := r.Failure(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "watch rolebindings") {
			t.Errorf("got failure %v", err)
		}
		c.roles.Modify(aRole("a/r", "get"))
		if got := reports.take(); got != "" {
			t.Errorf("got %q while bindings are unreadable, want nothing", got)
		}
		bindings.set(open)
		<-time.After(relists)
		if got := reports.take(); got != `lost alice in "a"` {
			t.Errorf("got %q from the first list, want lost alice in a", got)
		}
	})
}

// refusesBindings starts rules that have read the cluster. Its bindings can then be listed, but not watched.
func (c cluster) refusesBindings(t *testing.T, rights Rights) *cuttable {
	t.Helper()
	from, bindings := c.sources(), &cuttable{FakeControllerSource: c.bindings}
	from.bindings = bindings
	r, err := newRules(from, rights, zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	start(t, r.Run)
	<-time.After(settle)
	bindings.set(refused)
	return bindings
}

// While bindings can be listed but not watched, a role may have bindings that no list contained yet. A change of the
// role does not affect all users: anyone who may change a role could delay the events of others. The next list reports
// the subjects of new bindings.
func TestSubjectsOfLateBindingsMayHaveLostPermissions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, reports := newCluster(t), &recorder{}
		c.roles.Add(aRole("a/r", "get", "list"))
		c.bindings.Add(bind("b/y", "Role r", "group team"))
		bindings := c.refusesBindings(t, reports)
		c.bindings.Add(bind("a/x", "Role r", "user alice"))
		c.bindings.Modify(bind("b/y", "Role r", "group team", "user bob"))
		synctest.Wait() // until the watch has ended
		c.roles.Modify(aRole("a/r", "get"))
		if got := reports.take(); got != "" {
			t.Fatalf("got %q before the next list, want nothing", got)
		}
		<-time.After(relists)
		if got := reports.take(); got != `gained bob in "b", lost alice in "a"` {
			t.Errorf("got %q from the next list, want gained bob in b, lost alice in a", got)
		}
		bindings.set(open)
		<-time.After(relists)
		c.bindings.Add(bind("a/z", "Role r", "user alice"))
		if got := reports.take(); got != `gained alice in "a"` {
			t.Errorf("got %q while bindings are watched, want gained alice", got)
		}
	})
}

// slow is a recorder whose calls take longer than a watch needs to be current.
type slow struct{ recorder }

// Lost implements Rights.
func (s *slow) Lost(affected Affected) {
	s.recorder.Lost(affected)
	<-time.After(2 * settle)
}

// Bindings that were received late count as late even if the handler runs when their watch is current again.
func TestLateBindingsMayWaitForTheirHandler(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, reports := newCluster(t), &slow{}
		c.roles.Add(aRole("a/r", "get", "list"))
		c.bindings.Add(bind("a/z", "Role other"))
		bindings := c.refusesBindings(t, reports)
		c.bindings.Add(bind("a/x", "Role r", "user alice"))
		synctest.Wait() // until the watch has ended
		c.bindings.Add(bind("a/y", "Role r", "user bob"))
		c.bindings.Modify(bind("a/z", "Role r", "user team"))
		c.roles.Modify(aRole("a/r", "get"))
		bindings.set(open)
		<-time.After(relists + 8*settle)
		if got := reports.take(); got != `lost alice in "a", lost bob in "a", lost team in "a"` {
			t.Errorf("got %q, want all lost", got)
		}
	})
}

// A user who may change any number of Roles in a namespace cannot make the facade forget roles of others, so the
// subjects of their late bindings still count as users who may have lost permissions.
func TestRolesOfANamespaceDisplaceNoOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		reports := &recorder{}
		r, err := newRules(newCluster(t).sources(), reports, zaptest.NewLogger(t)) // not running: bindings are not current
		if err != nil {
			t.Fatal(err)
		}
		r.roleDeleted(aRole("a/r"))
		r.roleDeleted(clusterRole("r"))
		for i := range 2 * maxShrunk {
			r.roleDeleted(aRole(fmt.Sprint("b/r", i)))
		}
		for _, binding := range []any{
			bind("a/x", "Role r", "user alice"), clusterBind("x", "ClusterRole r", "user bob"),
			bind("b/x", "Role r0", "user team"), bind("b/y", "ClusterRole other", "account a/default"),
		} {
			received, err := r.trimBinding(binding)
			if err != nil {
				t.Fatal(err)
			}
			r.bindingAdded(received)
		}
		if got := reports.take(); got != `gained a:default in "b", lost alice in "a", lost bob, lost team in "b"` {
			t.Errorf("got %q, want a:default gained and all others lost", got)
		}
	})
}

// eventually waits for the informers' next attempts, and returns the reports until then.
func eventually(reports *recorder) string {
	<-time.After(time.Minute)
	return reports.take()
}
