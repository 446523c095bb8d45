package rbac

import (
	"slices"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
)

// without returns the elements of a list that are not in another list. Its time is linear: a user who may change a role
// can give it tens of thousands of rules. The changes of other roles wait for the comparison.
func without[T comparable](all, others []T) []T {
	known := make(map[T]struct{}, len(others))
	for _, one := range others {
		known[one] = struct{}{}
	}
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool {
		_, ok := known[one]
		return ok
	})
}

// ruleKeys returns a key of each rule. Rules have the same key if and only if they have the same verbs, groups,
// resources, names and paths, in any order. RBAC then treats them alike.
func ruleKeys(rules []rbacv1.PolicyRule) []string {
	keys := make([]string, len(rules))
	var b []byte
	for i, rule := range rules {
		b = b[:0]
		for _, list := range listsOf(rule) {
			b = appendSet(b, list)
		}
		keys[i] = string(b)
	}
	return keys
}

// sameLists reports whether two rules have the same lists in the same order.
func sameLists(one, other rbacv1.PolicyRule) bool {
	a, b := listsOf(one), listsOf(other)
	return slices.EqualFunc(a[:], b[:], slices.Equal)
}

func listsOf(rule rbacv1.PolicyRule) [5][]string {
	return [...][]string{rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames, rule.NonResourceURLs}
}

// appendSet appends the distinct elements of a list. They are quoted, so no two sets have the same text.
func appendSet(b []byte, list []string) []byte {
	if !slices.IsSorted(list) {
		list = slices.Sorted(slices.Values(list)) // a copy: the list belongs to the informer
	}
	for i, element := range list {
		if i == 0 || element != list[i-1] {
			b = strconv.AppendQuote(b, element)
		}
	}
	return append(b, '|')
}
