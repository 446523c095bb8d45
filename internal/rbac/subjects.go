package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// maxNames is the maximum number of users and groups of a namespace that one change names. If its bindings have more,
// the change affects all users of that namespace. Otherwise, a user could write bindings with many subjects and change
// their role often. This could exhaust the memory and delay the changes of other namespaces. ClusterRoleBindings have
// no maximum, because only cluster administrators write them.
const maxNames = 1000

// subjects are the subjects of bindings by the namespace of their binding, which is empty for ClusterRoleBindings. A
// namespace without subjects has no entry.
type subjects map[string]*subjectNames

type subjectNames struct {
	users, groups map[string]bool
	all           bool // more than maxNames; users and groups are then empty
}

func subjectsOf(b binding) subjects {
	s := subjects{}
	s.add(b)
	return s
}

// allUsers selects every user. It is used for a change whose subjects are unknown.
func allUsers(user.Info) bool { return true }

func (s subjects) add(b binding) {
	for _, subject := range b.subjects {
		if s.nameAll(b.namespace) {
			return
		}
		switch subject.Kind {
		case rbacv1.UserKind:
			s.in(b.namespace).users[subject.Name] = true
		case rbacv1.GroupKind:
			s.in(b.namespace).groups[subject.Name] = true
		case rbacv1.ServiceAccountKind:
			name := serviceaccount.Username(cmp.Or(subject.Namespace, b.namespace), subject.Name)
			s.in(b.namespace).users[name] = true
		default: // ignored, as by the upstream's authorizer
		}
	}
}

// nameAll reports whether all users of a namespace count as affected, because its bindings have too many subjects.
func (s subjects) nameAll(namespace string) bool {
	names := s[namespace]
	if names == nil || namespace == "" {
		return false
	}
	if len(names.users)+len(names.groups) >= maxNames {
		*names = subjectNames{all: true}
	}
	return names.all
}

func (s subjects) in(namespace string) *subjectNames {
	names := s[namespace]
	if names == nil {
		names = &subjectNames{users: map[string]bool{}, groups: map[string]bool{}}
		s[namespace] = names
	}
	return names
}

// affected returns the requests that changes of these bindings, or of their roles, may affect. As in kube-apiserver's
// RBAC authorizer, a ClusterRoleBinding applies to all requests, and a RoleBinding to those in its namespace.
func (s subjects) affected() Affected {
	affected := make(Affected, len(s))
	for namespace, names := range s {
		affected[namespace] = names.include
	}
	return affected
}

// include reports whether the names contain a user or one of the user's groups.
func (n *subjectNames) include(who user.Info) bool {
	return n.all || n.users[who.GetName()] ||
		slices.ContainsFunc(who.GetGroups(), func(group string) bool { return n.groups[group] })
}
