package selectors_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/selectors"
)

// TestMatchesFulfilRequirements: every object that a predicate matches fulfils all of its requirements.
func TestMatchesFulfilRequirements(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	universe := labelUniverse()
	for _, text := range singlesAndPairs(labelGrammar()) {
		p := mustPredicate(t, pod, "", text, "")
		for _, set := range universe {
			checkRequirements(t, p, attributes(pod, set, nil))
		}
	}
	for _, text := range singlesAndPairs(fieldGrammar()) {
		for _, namespace := range []string{"", "x"} {
			p := mustPredicate(t, pod, namespace, "", text)
			for _, set := range fieldUniverse() {
				checkRequirements(t, p, attributes(pod, nil, set))
			}
		}
	}
}

func checkRequirements(t *testing.T, p *selectors.Predicate, a *selectors.Attributes) {
	t.Helper()
	if !p.Matches(a) {
		return
	}
	for r := range p.Requirements() {
		if !r.Fulfilled(a) {
			t.Errorf("%s matches %v, want requirement %v fulfilled", p, a, r)
		}
	}
}

// TestRequirements: equality, a set of values, and existence are requirements. Absence and inequality are not.
func TestRequirements(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	node := pod.Location("spec.nodeName")
	for _, c := range []struct {
		namespace, labels, fields string
		want                      []string
	}{
		{"", "", "", nil},
		{"", "a!=x,b notin (y),!c", "status.phase!=Failed", nil},
		{"n", "", "", []string{"namespace [n] false"}},
		{"", "a=x", "", []string{"a [x] false"}},
		{"", "a in (y,x,y),b", "", []string{"a [x y] false", "b [] true"}},
		{"", "a in (x,y),a in (y,z)", "", []string{"a [y] false"}},
		{"", "a=x,a=y", "", []string{"a [] false"}},
		{"", "a>5", "", []string{"a [] true"}},
		{"", "", "spec.host=n1,metadata.name=p", []string{"name [p] false", "node [n1] false"}},
	} {
		names := map[selectors.Property]string{
			selectors.NamespaceProperty(): "namespace", selectors.NameProperty(): "name", selectors.FieldProperty(node): "node",
		}
		var got []string
		for r := range mustPredicate(t, pod, c.namespace, c.labels, c.fields).Requirements() {
			name := names[r.Property]
			if key, ok := r.Property.Label(); ok {
				name = key
			}
			got = append(got, fmt.Sprint(name, " ", r.Values, " ", r.Any))
		}
		slices.Sort(got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q %q %q (-want +got):\n%s", c.namespace, c.labels, c.fields, d)
		}
	}
}

// TestImpossiblePredicateHasARequirement: a predicate that matches nothing has a requirement that no object fulfils.
func TestImpossiblePredicateHasARequirement(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	for r := range pod.Predicate("", labels.Nothing(), nil).Requirements() {
		if r.Any || len(r.Values) != 0 {
			t.Errorf("got requirement %v, want one without values", r)
		}
		return
	}
	t.Error("got no requirements, want one")
}
