package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

type binding struct {
	namespace string // empty for a ClusterRoleBinding
	subjects  []rbacv1.Subject
	role      string // key in the index byRole
	late      bool   // received while the watch was not current, so it may have existed before
}

// lateMark is the annotation of bindings that were received late. trim removes all annotations of the upstream.
const lateMark = "late"

func bindingOf(object any) binding {
	switch o := object.(type) {
	case *rbacv1.RoleBinding:
		return binding{namespace: o.Namespace, subjects: o.Subjects, role: roleName(o.RoleRef, o.Namespace),
			late: isLate(o.Annotations)}
	case *rbacv1.ClusterRoleBinding:
		return binding{subjects: o.Subjects, role: roleName(o.RoleRef, ""), late: isLate(o.Annotations)}
	default:
		return binding{}
	}
}

func isLate(annotations map[string]string) bool {
	_, late := annotations[lateMark]
	return late
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
