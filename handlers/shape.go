package handlers

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/listfacade/listfacade/internal/auth"
)

// shapeTerms is how many requirements the shape of a selector names.
const shapeTerms = 6

// shapeOf is what the selectors of a request ask of which fields and labels, without the values, so that all who ask
// the same about different objects have one shape, as "field spec.nodeName =, label app in". It is empty where there
// are none, and where they cannot be read.
func shapeOf(a auth.Attributes) string {
	if len(a.Fields)+len(a.Labels) == 0 {
		return ""
	}
	var terms []string
	for _, r := range a.Fields {
		terms = append(terms, "field "+r.Field+" "+operatorOf(r.Operator))
	}
	for _, r := range a.Labels {
		terms = append(terms, "label "+r.Key()+" "+operatorOf(r.Operator()))
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if len(terms) > shapeTerms {
		terms = append(terms[:shapeTerms], "...")
	}
	return strings.Join(terms, ", ")
}

// operatorOf is an operator in one of its spellings.
func operatorOf(operator selection.Operator) string {
	if operator == selection.DoubleEquals {
		operator = selection.Equals
	}
	return string(operator)
}
