package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// subjects are whom bindings name. The zero value is nobody.
type subjects struct {
	users, groups map[string]bool
}

// everybody is affected by what cannot be told apart.
func everybody(user.Info) bool { return true }

// add adds those of a binding, which is in a namespace or, for "", in none.
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
		default: // names nobody, as for the upstream's authorizer
		}
	}
}

func (s *subjects) empty() bool { return len(s.users) == 0 && len(s.groups) == 0 }

// include tells whether somebody is named.
func (s *subjects) include(who user.Info) bool {
	return s.users[who.GetName()] || slices.ContainsFunc(who.GetGroups(), func(group string) bool { return s.groups[group] })
}

// without are the subjects that are not among others.
func without(all, others []rbacv1.Subject) []rbacv1.Subject {
	return slices.DeleteFunc(slices.Clone(all), func(s rbacv1.Subject) bool { return slices.Contains(others, s) })
}
