package handlers

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/listfacade/listfacade/internal/auth"
)

const patternTerms = 6

// patternOf returns the fields, labels and operators of a request's selectors, without the values, such as "field
// spec.nodeName =, label app in". Requests for different objects then have the same pattern. It is empty if there are
// no selectors, or if they do not parse.
func patternOf(a auth.Attributes) string {
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
	if len(terms) > patternTerms {
		terms = append(terms[:patternTerms], "...")
	}
	return strings.Join(terms, ", ")
}

// operatorOf returns an operator, with "=" for its synonym "==".
func operatorOf(operator selection.Operator) string {
	if operator == selection.DoubleEquals {
		operator = selection.Equals
	}
	return string(operator)
}
