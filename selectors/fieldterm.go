package selectors

import (
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
)

// fieldTerm is one compiled requirement of a field selector.
type fieldTerm struct {
	label    string
	location Location
	// If equal is true, an object matches if its field has the value of the member value. Otherwise, an object matches if
	// its field has none of the values of the member not.
	equal bool
	value string
	not   valueSet
}

// compileFields compiles a converted selector. All excluded values of a field become one term. Each required value is a
// term. The second result is false when no object can match.
func (k *Kind) compileFields(selector fields.Selector) (terms []fieldTerm, possible bool) {
	if selector == nil || selector.Empty() {
		return nil, true
	}
	type requirement struct{ label, value string }
	required, not := map[requirement]bool{}, map[string][]string{}
	requirements := selector.Requirements()
	for _, r := range requirements {
		t := fieldTerm{label: r.Field, location: k.Location(r.Field), equal: r.Operator != selection.NotEquals}
		isNew := not[t.label] == nil
		if t.equal {
			t.value, isNew = r.Value, !required[requirement{r.Field, r.Value}]
			required[requirement{r.Field, r.Value}] = true
		} else {
			not[t.label] = append(not[t.label], r.Value)
		}
		if isNew {
			terms = append(terms, t)
		}
	}
	for i := range terms {
		if t := &terms[i]; !t.equal {
			t.not = newValueSet(not[t.label])
		}
	}
	// fields.Nothing is the only selector that is not empty and has no requirements.
	return terms, len(requirements) > 0
}

// matches compares one field. A field that the object lacks, and metadata.namespace of a cluster-scoped object, compare
// as "" (semantics 5.2).
func (t *fieldTerm) matches(a *Attributes) bool {
	value := a.Field(t.location)
	if t.equal {
		return value == t.value
	}
	return !t.not.has(value)
}

// appendTo appends the term's text. Equal terms have equal texts.
func (t *fieldTerm) appendTo(dst []byte) []byte {
	dst = strconv.AppendQuote(dst, t.label)
	if t.equal {
		return strconv.AppendQuote(append(dst, " = "...), t.value)
	}
	return t.not.appendTo(append(dst, " !="...))
}
