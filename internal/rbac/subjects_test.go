package rbac

import (
	"fmt"
	"testing"
)

// A RoleBinding with very many subjects affects all users of its namespace, and no requests elsewhere. A
// ClusterRoleBinding affects its subjects only.
func TestManySubjectsAffectTheirNamespace(t *testing.T) {
	var many []string
	for i := range 2 * maxNames {
		many = append(many, fmt.Sprint("account other/", i))
	}
	fill := func(c cluster) {
		c.bindings.Add(bind("a/x", "Role r", many[:maxNames+1]...))
		c.bindings.Add(bind("a/y", "Role r", many...))
		c.bindings.Add(bind("b/x", "Role r", many[:maxNames-1]...))
		c.clusterBindings.Add(clusterBind("x", "ClusterRole r", append(many, "user bob")...))
	}
	following(t, fill, func(c cluster, reports *recorder) {
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() { c.roles.Add(aRole("a/r", "get")) },
				`gained a:default in "a", gained alice in "a", gained b:default in "a", gained bob in "a", gained team in "a"`},
			{func() { c.bindings.Delete(bind("a/y", "Role r", many...)) },
				`lost a:default in "a", lost alice in "a", lost b:default in "a", lost bob in "a", lost team in "a"`},
			{func() { c.roles.Add(aRole("b/r", "get")) }, ""},
			{func() { c.clusterRoles.Add(clusterRole("r", "get")) }, "gained bob"},
		} {
			step.do()
			if got := reports.take(); got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		}
	})
}
