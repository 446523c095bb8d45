package rbac

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/zap"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestRuleKeysCompareSets(t *testing.T) {
	rule := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{"", "apps"}, Resources: []string{"pods"}}
	for name, c := range map[string]struct {
		change func(*rbacv1.PolicyRule)
		same   bool
	}{
		"no change":           {func(*rbacv1.PolicyRule) {}, true},
		"other order":         {func(r *rbacv1.PolicyRule) { r.Verbs = []string{"list", "get"} }, true},
		"one verb twice":      {func(r *rbacv1.PolicyRule) { r.Verbs = []string{"get", "list", "get"} }, true},
		"empty list":          {func(r *rbacv1.PolicyRule) { r.ResourceNames = []string{} }, true},
		"one verb less":       {func(r *rbacv1.PolicyRule) { r.Verbs = r.Verbs[:1] }, false},
		"other group":         {func(r *rbacv1.PolicyRule) { r.APIGroups = []string{"", "batch"} }, false},
		"no core group":       {func(r *rbacv1.PolicyRule) { r.APIGroups = []string{"apps"} }, false},
		"an empty name":       {func(r *rbacv1.PolicyRule) { r.ResourceNames = []string{""} }, false},
		"a name":              {func(r *rbacv1.PolicyRule) { r.ResourceNames = []string{"x"} }, false},
		"a path":              {func(r *rbacv1.PolicyRule) { r.NonResourceURLs = []string{"x"} }, false},
		"two verbs as one":    {func(r *rbacv1.PolicyRule) { r.Verbs = []string{`get""list`} }, false},
		"verbs and groups":    {func(r *rbacv1.PolicyRule) { r.Verbs, r.APIGroups = r.APIGroups, r.Verbs }, false},
		"a group as resource": {func(r *rbacv1.PolicyRule) { r.APIGroups, r.Resources = r.APIGroups[:1], []string{"apps", "pods"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := *rule.DeepCopy()
			c.change(&other)
			before := other.DeepCopy()
			keys := ruleKeys([]rbacv1.PolicyRule{rule, other})
			if same := keys[0] == keys[1]; same != c.same {
				t.Errorf("got same key %t for %v, want %t", same, other, c.same)
			}
			if !reflect.DeepEqual(&other, before) {
				t.Errorf("got the rule changed to %v", other)
			}
		})
	}
}

// A field that the key omits would hide lost permissions.
func TestRuleKeysContainEachField(t *testing.T) {
	empty := ruleKeys([]rbacv1.PolicyRule{{}})[0]
	seen := map[string]string{empty: "no field"}
	for i := range reflect.TypeFor[rbacv1.PolicyRule]().NumField() {
		var rule rbacv1.PolicyRule
		name := reflect.TypeFor[rbacv1.PolicyRule]().Field(i).Name
		reflect.ValueOf(&rule).Elem().Field(i).Set(reflect.ValueOf([]string{"x"}))
		key := ruleKeys([]rbacv1.PolicyRule{rule})[0]
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
}

// manyRules returns n different rules, in one order and in reverse.
func manyRules(n int) (rules, reversed []rbacv1.PolicyRule) {
	for i := range n {
		rules = append(rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("r", i)}})
	}
	reversed = slices.Clone(rules)
	slices.Reverse(reversed)
	return rules, reversed
}

// BenchmarkRoleChanged shows the time of such comparisons.
func TestRulesAreComparedInAnyOrder(t *testing.T) {
	const n = 100
	ordered, reversed := manyRules(n)
	of := func(rules []rbacv1.PolicyRule) *rbacv1.Role {
		role := aRole("a/r")
		role.Rules = rules
		return role
	}
	fill := func(c cluster) {
		c.bindings.Add(bind("a/x", "Role r", "user alice"))
		c.roles.Add(of(ordered))
	}
	following(t, fill, func(c cluster, reports *recorder) {
		for _, step := range []struct {
			rules []rbacv1.PolicyRule
			want  string
		}{
			{reversed, ""},
			{reversed[1:], `lost alice in "a"`},
			{ordered, `gained alice in "a"`},
			{append(rules("list"), reversed[:n-1]...), `lost alice in "a"`},
		} {
			c.roles.Modify(of(step.rules))
			if got := reports.take(); got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		}
	})
}

// Most updates change annotations or labels. They allocate nothing, so they cost little for the largest objects, too.
func TestUpdateOfLabelsAllocatesNothing(t *testing.T) {
	r, err := newRules(sources{}, &recorder{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	role := clusterRole("r")
	role.Rules, _ = manyRules(100)
	binding := clusterBind("x", "ClusterRole r", slices.Repeat([]string{"user alice"}, 100)...)
	newRole, newBinding := role.DeepCopy(), binding.DeepCopy()
	for what, update := range map[string]func(){
		"role":    func() { r.roleChanged(role, newRole) },
		"binding": func() { r.bindingChanged(binding, newBinding) },
	} {
		if got := testing.AllocsPerRun(10, update); got != 0 {
			t.Errorf("%s: got %v allocations, want none", what, got)
		}
	}
}

func BenchmarkRoleChanged(b *testing.B) {
	for _, n := range []int{180, 1800, 18_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, err := newRules(sources{}, &recorder{}, zap.NewNop())
			if err != nil {
				b.Fatal(err)
			}
			before, after := aRole("a/r"), aRole("a/r")
			before.Rules, after.Rules = manyRules(n)
			for b.Loop() {
				r.roleChanged(before, after)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/rule")
		})
	}
}
