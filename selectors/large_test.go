package selectors_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/selectors"
)

// numbered returns a list of n values or requirements.
func numbered(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

// Selectors with many requirements and values are matched in other ways than small ones, with the same result.
func TestLargeLabelSelectorsMatchLikeApimachinery(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	universe := labelUniverse()
	for _, set := range labelUniverse()[:20] {
		set = maps.Clone(set)
		set["k3"] = "x"
		universe = append(universe, set)
	}
	large := []string{
		numbered("!k%d", 20), "a in (x,7," + numbered("v%d", 20) + ")", "a notin (x,," + numbered("v%d", 20) + ")",
		numbered("b!=v%d", 20), numbered("!k%d", 9) + ",a>5,a>6,b<8,b<9,b<7,a in (6,7),a in (7,8)",
	}
	for _, requirement := range labelGrammar() {
		for _, many := range large {
			selector, err := selectors.ParseLabels(requirement + "," + many)
			if err != nil {
				t.Fatal(err)
			}
			predicate := pod.Predicate("", selector, nil)
			for _, set := range universe {
				checkLabels(t, predicate, selector, set)
			}
		}
	}
}

func TestLargeFieldSelectorsMatchLikeApimachinery(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	universe := fieldUniverse()
	many := numbered("status.phase!=v%d", 20) + "," + numbered("spec.nodeName!=v%d", 20)
	for _, requirement := range fieldGrammar() {
		selector, err := parseFields(pod, requirement+","+many)
		if err != nil {
			t.Fatal(err)
		}
		predicate := pod.Predicate("", nil, selector)
		for _, set := range universe {
			checkFields(t, pod, predicate, selector, set)
		}
	}
}
