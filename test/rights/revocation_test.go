package rights

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/rbac"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/upstream"
)

// late is the lifetime of cached decisions and the interval of reviews. It is longer than any test, so a change only
// has an effect if a watch notifies the facade.
const late = 24 * time.Hour

// rig is an authorizer with watches of the cluster's RBAC objects, and a namespace.
type rig struct {
	*auth.Reviews
	namespace string
	clients   kubernetes.Interface
}

func newRig(t *testing.T) *rig {
	t.Helper()
	f := suite.NewFixture(t, suite.Cluster(t))
	client, err := upstream.NewClient(f.Config, upstream.Hop{})
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	names, err := metadata.NewForConfig(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := rbac.NewAccounts(names, nil, zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	reviews := auth.NewReviews(auth.ReviewsConfig{
		Upstream: client, Exists: accounts.Exists, AllowedTTL: late, DeniedTTL: late, Watches: auth.WatchAuthorizationConfig{Every: late},
	})
	rules, err := rbac.NewRules(clients.RbacV1().RESTClient(), reviews, zaptest.NewLogger(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for _, run := range []func(context.Context){reviews.Run, rules.Run, accounts.Run} {
		wait.Go(func() { run(ctx) })
	}
	t.Cleanup(wait.Wait)
	t.Cleanup(cancel)
	testkit.Eventually(t, "the watches of RBAC objects and accounts are synced", func() error {
		return errors.Join(rules.Failure(), accounts.Failure())
	})
	return &rig{Reviews: reviews, namespace: f.Namespace, clients: clients}
}

// ask authorizes a watch of the namespace's config maps.
func (r *rig) ask(t *testing.T, who *auth.Caller) (auth.Attributes, error) {
	t.Helper()
	a := auth.Attributes{Caller: who, Verb: "watch", Version: "v1", Resource: "configmaps", Namespace: r.namespace}
	grant, err := r.Authorize(t.Context(), a)
	if grant.Covers(a) != (err == nil) || err != nil && !auth.IsDenied(err) {
		t.Fatalf("neither granted nor denied: %v", err)
	}
	return a, err
}

// becomes waits until the watch is allowed or, if granted is false, denied.
func (r *rig) becomes(t *testing.T, who *auth.Caller, granted bool) auth.Attributes {
	t.Helper()
	var a auth.Attributes
	testkit.Eventually(t, fmt.Sprint("granted: ", granted), func() (err error) {
		if a, err = r.ask(t, who); (err == nil) != granted {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	return a
}

// give binds a role with the right to read the namespace's config maps.
func (r *rig) give(t *testing.T, to rbacv1.Subject) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}}
	if _, err := r.clients.RbacV1().Roles(r.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}
	if _, err := r.clients.RbacV1().RoleBindings(r.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end of a watch authorization.
func ends(t *testing.T, l *auth.WatchAuthorization) {
	t.Helper()
	select {
	case <-l.Ended():
	case <-time.After(suite.Patience):
		t.Error("the watch authorization does not end")
	}
	if err := l.Check(t.Context()); !errors.Is(err, auth.ErrRevoked) {
		t.Errorf("got %v from an ended watch authorization, want ErrRevoked", err)
	}
}

func person(name string, groups ...string) *auth.Caller {
	return auth.NewCaller(&user.DefaultInfo{Name: name, Groups: append(groups, "system:authenticated")}, auth.ByCertificate, time.Time{})
}

// A new right takes effect although its refusal was cached. Each way to remove a right ends watch authorizations.
func TestWatchAuthorizationFollowsRights(t *testing.T) {
	remove := metav1.DeleteOptions{}
	for name, take := range map[string]func(*testing.T, *rig) error{
		"the binding is deleted": func(t *testing.T, r *rig) error {
			return r.clients.RbacV1().RoleBindings(r.namespace).Delete(t.Context(), "reader", remove)
		},
		"the role is deleted": func(t *testing.T, r *rig) error {
			return r.clients.RbacV1().Roles(r.namespace).Delete(t.Context(), "reader", remove)
		},
		"the rule is removed from the role": func(t *testing.T, r *rig) error {
			less := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
			_, err := r.clients.RbacV1().Roles(r.namespace).Update(t.Context(), less, metav1.UpdateOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			carol := person("carol", "team")
			if _, err := r.ask(t, carol); err == nil {
				t.Fatal("allowed before the right is given")
			}
			r.give(t, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "team"})
			l := r.AuthorizeWatch(r.becomes(t, carol, true))
			defer l.Release()
			if err := l.Check(t.Context()); err != nil {
				t.Errorf("got %v from an open watch authorization, want nil", err)
			}
			if err := take(t, r); err != nil {
				t.Fatal(err)
			}
			ends(t, l)
			r.becomes(t, carol, false)
		})
	}
}

// The watch authorization of a service account ends with the account, even if its binding remains.
func TestWatchAuthorizationEndsWithServiceAccount(t *testing.T) {
	r := newRig(t)
	accounts := r.clients.CoreV1().ServiceAccounts(r.namespace)
	made, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.give(t, rbacv1.Subject{Kind: "ServiceAccount", Namespace: r.namespace, Name: "robot"})
	robot := auth.NewCaller(&user.DefaultInfo{
		Name: serviceaccount.MakeUsername(r.namespace, "robot"), UID: string(made.UID), Groups: []string{"system:authenticated"},
	}, auth.ByToken, time.Time{})
	l := r.AuthorizeWatch(r.becomes(t, robot, true))
	defer l.Release()
	if err := accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ends(t, l)
}

// The node authorizer's decisions for a kubelet depend on its groups and on the selector. Refusals have a reason.
func TestNodeAuthorizerDecisions(t *testing.T) {
	r := newRig(t)
	own, others := fields.OneTermEqualSelector("spec.nodeName", "n1"), fields.OneTermEqualSelector("spec.nodeName", "n2")
	node := person("system:node:n1", "system:nodes")
	for name, c := range map[string]struct {
		who      *auth.Caller
		selector fields.Selector
		granted  bool
	}{
		"its own pods":   {node, own, true},
		"another's":      {node, others, false},
		"all":            {node, fields.Everything(), false},
		"not in a group": {person("system:node:n1"), own, false},
		"another user's": {person("alice"), own, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := auth.Attributes{Caller: c.who, Verb: "list", Version: "v1", Resource: "pods", Fields: c.selector.Requirements()}
			grant, err := r.Authorize(t.Context(), a)
			if grant.Covers(a) != c.granted || !c.granted && !auth.IsDenied(err) {
				t.Errorf("got allowed %t, %v", grant.Covers(a), err)
			}
			var denied *auth.DeniedError
			if c.who == node && errors.As(err, &denied) && denied.Reason == "" {
				t.Error("the refusal has no reason")
			}
		})
	}
}
