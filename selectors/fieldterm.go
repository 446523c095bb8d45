package selectors

import (
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
)

// fieldTerm is one requirement of a field selector, compiled: place is known, no map is built per object.
type fieldTerm struct {
	label    string
	location Location
	equal    bool   // else not equal
	value    string // of an equal one
	not      valueSet
}

// compileFields compiles a converted selector. possible is false when it can match nothing whatever the fields. What a
// field must not be is one term, however many values a client names; of what it must be, each value is one, and the
// second ends the matching.
func (k *Kind) compileFields(selector fields.Selector) (terms []fieldTerm, possible bool) {
	if selector == nil || selector.Empty() {
		return nil, true
	}
	type requirement struct{ label, value string }
	asked, not := map[requirement]bool{}, map[string][]string{}
	requirements := selector.Requirements()
	for _, r := range requirements {
		t := fieldTerm{label: r.Field, location: k.Location(r.Field), equal: r.Operator != selection.NotEquals}
		isNew := not[t.label] == nil
		if t.equal {
			t.value, isNew = r.Value, !asked[requirement{r.Field, r.Value}]
			asked[requirement{r.Field, r.Value}] = true
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
	// fields.Nothing is the one selector that is neither empty nor has requirements.
	return terms, len(requirements) > 0
}

// matches compares one field. A field that the object lacks compares as "" (semantics 5.2); so does metadata.namespace
// of a cluster-scoped object, which has none.
func (t *fieldTerm) matches(a *Attributes) bool {
	value := a.Field(t.location)
	if t.equal {
		return value == t.value
	}
	return !t.not.has(value)
}

// appendTo writes the term so that terms which ask the same are written the same.
func (t *fieldTerm) appendTo(dst []byte) []byte {
	dst = strconv.AppendQuote(dst, t.label)
	if t.equal {
		return strconv.AppendQuote(append(dst, " = "...), t.value)
	}
	return t.not.appendTo(append(dst, " !="...))
}
