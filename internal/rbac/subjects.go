package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

type subjects struct {
	users, groups map[string]bool
}

// allUsers selects every user. It is used for a change whose subjects are unknown.
func allUsers(user.Info) bool { return true }

// add adds the subjects of a binding. namespace is the namespace of the binding; empty for a ClusterRoleBinding.
func (s *subjects) add(of []rbacv1.Subject, namespace string) {
	if s.users == nil {
		s.users, s.groups = map[string]bool{}, map[string]bool{}
	}
	for _, subject := range of {
		switch subject.Kind {
		case rbacv1.UserKind:
			s.users[subject.Name] = true
		case rbacv1.GroupKind:
			s.groups[subject.Name] = true
		case rbacv1.ServiceAccountKind:
			s.users[serviceaccount.Username(cmp.Or(subject.Namespace, namespace), subject.Name)] = true
		default: // ignored, as by the upstream's authorizer
		}
	}
}

func (s *subjects) empty() bool { return len(s.users) == 0 && len(s.groups) == 0 }

// include reports whether the set contains a user or one of the user's groups.
func (s *subjects) include(u user.Info) bool {
	return s.users[u.GetName()] || slices.ContainsFunc(u.GetGroups(), func(group string) bool { return s.groups[group] })
}

func without(all, others []rbacv1.Subject) []rbacv1.Subject {
	return slices.DeleteFunc(slices.Clone(all), func(s rbacv1.Subject) bool { return slices.Contains(others, s) })
}
