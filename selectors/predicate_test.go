package selectors_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/selectors"
)

var (
	podKind    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	nodeKind   = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	configKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	roleKind   = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
)

// attributes returns the attributes of an object with these labels and this field set.
func attributes(k *selectors.Kind, labels labels.Set, set fields.Set) *selectors.Attributes {
	var sorted []selectors.Label
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		sorted = append(sorted, selectors.Label{Key: key, Value: labels[key]})
	}
	values := make([]string, len(k.Fields()))
	for i, field := range k.Fields() {
		values[i] = set[field.Label]
	}
	a := k.Attributes(selectors.Identity{Namespace: set["metadata.namespace"], Name: set["metadata.name"], UID: set["metadata.uid"]}, sorted, values)
	return &a
}

// checkLabels compares a predicate with its selector.
func checkLabels(t *testing.T, p *selectors.Predicate, reference labels.Selector, set map[string]string) {
	t.Helper()
	want := reference.Matches(labels.Set(set))
	if got := p.Matches(attributes(pods, set, nil)); got != want {
		t.Errorf("%q on labels %v: got %v, apimachinery says %v", reference, set, got, want)
	}
}

// checkFields compares a predicate with its converted selector.
func checkFields(t *testing.T, k *selectors.Kind, p *selectors.Predicate, reference fields.Selector, set fields.Set) {
	t.Helper()
	want := reference.Matches(set)
	if got := p.Matches(attributes(k, nil, set)); got != want {
		t.Errorf("%q on fields %v: got %v, apimachinery says %v", reference, set, got, want)
	}
}

// labelGrammar returns every requirement over two keys and a few relevant values.
func labelGrammar() []string {
	var requirements []string
	values := []string{"", "x", "7", "007", "9223372036854775807"}
	for _, key := range []string{"a", "b"} {
		requirements = append(requirements, key, "!"+key, key+" in (x,7)", key+" in ()", key+" notin (x,,7)", key+" in (7,x,x)")
		for _, value := range values {
			requirements = append(requirements, key+"="+value, key+"=="+value, key+"!="+value)
			if value != "" && value != "x" {
				requirements = append(requirements, key+">"+value, key+"<"+value)
			}
		}
	}
	return requirements
}

// labelUniverse returns every set of labels that could distinguish those requirements.
func labelUniverse() []map[string]string {
	values := []string{"absent", "", "x", "y", "6", "7", "8", "-7", "+7", "07", "9223372036854775807", "9223372036854775808", "1_0"}
	var universe []map[string]string
	for _, a := range values {
		for _, b := range values {
			set := map[string]string{"unrelated": "x"}
			if a != "absent" {
				set["a"] = a
			}
			if b != "absent" {
				set["b"] = b
			}
			universe = append(universe, set)
		}
	}
	return universe
}

// singlesAndPairs returns every selector of at most two requirements.
func singlesAndPairs(requirements []string) []string {
	texts := append([]string{""}, requirements...)
	for _, left := range requirements {
		for _, right := range requirements {
			texts = append(texts, left+","+right)
		}
	}
	return texts
}

func TestLabelsMatchLikeApimachinery(t *testing.T) {
	kind := selectors.ForBuiltin(configKind, selectors.Namespaced)
	universe := labelUniverse()
	for _, text := range singlesAndPairs(labelGrammar()) {
		selector, err := selectors.ParseLabels(text)
		if err != nil {
			t.Fatal(err)
		}
		predicate := kind.Predicate("", selector, nil)
		for _, set := range universe {
			checkLabels(t, predicate, selector, set)
		}
	}
}

// fieldGrammar generates every term over fields of a Pod. These are both metadata fields, two that objects have, one
// that never has a value, and one under two names.
func fieldGrammar() []string {
	var terms []string
	for _, label := range []string{"metadata.name", "metadata.namespace", "spec.nodeName", "spec.host", "status.phase", "status.podIPs"} {
		for _, operator := range []string{"=", "==", "!="} {
			for _, value := range []string{"", "x", "y"} {
				terms = append(terms, label+operator+value)
			}
		}
	}
	return terms
}

func fieldUniverse() []fields.Set {
	var universe []fields.Set
	values := []string{"", "x", "y"}
	for _, node := range values {
		for _, phase := range values {
			for _, name := range []string{"x", "y"} {
				for _, namespace := range []string{"x", "y"} {
					universe = append(universe, fields.Set{
						"metadata.name": name, "metadata.namespace": namespace, "spec.nodeName": node, "status.phase": phase,
					})
				}
			}
		}
	}
	return universe
}

func TestFieldsMatchLikeApimachinery(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	universe := fieldUniverse()
	for _, text := range singlesAndPairs(fieldGrammar()) {
		selector, err := parseFields(pod, text)
		if err != nil {
			t.Fatal(err)
		}
		predicate := pod.Predicate("", nil, selector)
		for _, set := range universe {
			checkFields(t, pod, predicate, selector, set)
		}
	}
}

// Watchers share a feed when the strings of their predicates are equal, so these predicates must match the same
// objects.
func TestEqualStringsMatchTheSame(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	answers := map[string]string{}
	remember := func(p *selectors.Predicate, objects []*selectors.Attributes) {
		var answer strings.Builder
		for _, object := range objects {
			fmt.Fprintf(&answer, "%t ", p.Matches(object))
		}
		if before, ok := answers[p.String()]; ok && before != answer.String() {
			t.Errorf("predicates with equal string %s match different objects", p)
		}
		answers[p.String()] = answer.String()
	}

	var objects []*selectors.Attributes
	for _, set := range labelUniverse() {
		objects = append(objects, attributes(pod, set, fields.Set{"metadata.name": "x", "metadata.namespace": "x"}))
	}
	for _, set := range fieldUniverse() {
		objects = append(objects, attributes(pod, nil, set))
	}
	for _, namespace := range []string{"", "x", "y"} {
		for _, text := range singlesAndPairs(labelGrammar()) {
			selector, err := selectors.ParseLabels(text)
			if err != nil {
				t.Fatal(err)
			}
			remember(pod.Predicate(namespace, selector, nil), objects)
		}
		for _, text := range singlesAndPairs(fieldGrammar()) {
			selector, err := parseFields(pod, text)
			if err != nil {
				t.Fatal(err)
			}
			remember(pod.Predicate(namespace, nil, selector), objects)
		}
	}
}

func TestStringIgnoresSpelling(t *testing.T) {
	groups := [][][2]string{ // label selector, field selector
		{{"", ""}, {" ", ",,"}},
		{{"a=1", ""}, {"a==1", ""}, {"a in (1)", ""}, {"a = 1,a=1", ""}},
		{{"a!=1", ""}, {"a notin (1)", ""}},
		{{"a!=1,a!=2", ""}, {"a notin (2,1)", ""}},
		{{"a in (1,2),a in (2,3)", ""}, {"a=2", ""}},
		{{"a in (x,y),b", ""}, {"b,a in (y,x,y)", ""}},
		{{"", "spec.nodeName=n,status.phase!=P"}, {"", "status.phase!=P,spec.host==n"}},
		{{"a", "status.phase=x"}}, {{"a", "status.phase!=x"}}, {{"!a", "status.phase=x"}},
		{{"", `spec.nodeName=n"; field "status.phase" \= "x`}}, {{"", "spec.nodeName=n,status.phase=x"}},
	}
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	owner := map[string]int{}
	for i, group := range groups {
		for _, texts := range group {
			name := mustPredicate(t, pod, "", texts[0], texts[1]).String()
			if other, ok := owner[name]; ok && other != i {
				t.Errorf("got %q of group %d in group %d, too", texts, i, other)
			}
			owner[name] = i
		}
	}
	if len(owner) != len(groups) {
		t.Errorf("got %d strings for %d groups: %v", len(owner), len(groups), owner)
	}
}

func mustPredicate(t testing.TB, k *selectors.Kind, namespace, labelSelector, fieldSelector string) *selectors.Predicate {
	t.Helper()
	l, err := selectors.ParseLabels(labelSelector)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseFields(k, fieldSelector)
	if err != nil {
		t.Fatal(err)
	}
	return k.Predicate(namespace, l, f)
}

// parseFields parses a parameter and converts it for the kind.
func parseFields(k *selectors.Kind, text string) (fields.Selector, error) {
	selector, err := selectors.ParseFields(text)
	if err != nil {
		return nil, err
	}
	return k.ConvertFields(selector)
}

func TestSelectorsThatMatchNothing(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	for _, p := range []*selectors.Predicate{
		pod.Predicate("", labels.Nothing(), nil),
		pod.Predicate("", nil, fields.Nothing()),
	} {
		if p.Matches(attributes(pods, nil, fields.Set{"metadata.namespace": "x", "metadata.name": "x"})) || p.Everything() {
			t.Errorf("%s: got a match, want none", p)
		}
	}
}
