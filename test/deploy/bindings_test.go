package deploy

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The account has its rights as soon as the manifests are applied: each role that is aggregated also has a binding. A
// controller fills aggregated roles seconds later. A facade that starts earlier would refuse or forward requests until
// it tries again.
func TestRightsNeedNoAggregation(t *testing.T) {
	cluster := suite.Cluster(t)
	for kustomization, labels := range map[string][]string{
		"base":                 {readerLabel},
		"overlays/impersonate": {readerLabel, "listfacade.io/aggregate-to-impersonator"},
	} {
		m := build(t, cluster, kustomization)
		bound := boundRoles(t, m)
		for _, label := range labels {
			found := 0
			for _, role := range of[rbacv1.ClusterRole](t, m, "ClusterRole") {
				if role.Labels[label] == "" {
					continue
				}
				found++
				if !slices.Contains(bound, role.Name) {
					t.Errorf("%s: the account is not bound to %s", kustomization, role.Name)
				}
			}
			if found == 0 {
				t.Errorf("%s: got no role with the label %s", kustomization, label)
			}
		}
	}
}

// boundRoles returns the ClusterRoles that manifests bind to the account in all namespaces.
func boundRoles(t testing.TB, m manifests) (roles []string) {
	t.Helper()
	subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}
	for _, binding := range of[rbacv1.ClusterRoleBinding](t, m, "ClusterRoleBinding") {
		if slices.Contains(binding.Subjects, subject) {
			roles = append(roles, binding.RoleRef.Name)
		}
	}
	return roles
}
