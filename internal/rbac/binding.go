package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

type binding struct {
	namespace string // empty for a ClusterRoleBinding
	subjects  []rbacv1.Subject
	role      string // key in the index byRole
}

func bindingOf(object any) binding {
	switch o := object.(type) {
	case *rbacv1.RoleBinding:
		return binding{namespace: o.Namespace, subjects: o.Subjects, role: roleName(o.RoleRef, o.Namespace)}
	case *rbacv1.ClusterRoleBinding:
		return binding{subjects: o.Subjects, role: roleName(o.RoleRef, "")}
	default:
		return binding{}
	}
}

const byRole = "role"

func indexByRole(object any) ([]string, error) { return []string{bindingOf(object).role}, nil }

// roleName returns the key of a role in byRole. A ClusterRole has no namespace, even if a RoleBinding references it.
func roleName(ref rbacv1.RoleRef, namespace string) string {
	if ref.Kind == "ClusterRole" {
		return ref.Name
	}
	return namespace + "/" + ref.Name
}

type role struct {
	name  string // key in the index byRole
	rules []rbacv1.PolicyRule
}

func roleOf(object any) role {
	switch o := object.(type) {
	case *rbacv1.Role:
		return role{name: o.Namespace + "/" + o.Name, rules: o.Rules}
	case *rbacv1.ClusterRole:
		return role{name: o.Name, rules: o.Rules}
	default:
		return role{}
	}
}
