package selectors

import (
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
)

// Places of a field's value besides an index into Attributes.Fields.
const (
	atName      = -1
	atNamespace = -2
	// atNowhere is for labels that are accepted and never set, like a Pod's status.podIPs.
	atNowhere = -3
)

// fieldTerm is one requirement of a field selector, compiled: place is known, no map is built per object.
type fieldTerm struct {
	label string
	place int
	equal bool   // else not equal
	value string // of an equal one
	not   valueSet
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
		t := fieldTerm{label: r.Field, place: k.place(r.Field), equal: r.Operator != selection.NotEquals}
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

// place finds where Attributes hold the value of a canonical label.
func (k *Kind) place(label string) int {
	switch label {
	case nameLabel:
		return atName
	case namespaceLabel:
		return atNamespace
	}
	for i := range k.fields {
		if k.fields[i].Label == label {
			return i
		}
	}
	return atNowhere
}

// matches compares one field. A field that the object lacks compares as "" (semantics 5.2); so does metadata.namespace
// of a cluster-scoped object, which has none.
func (t *fieldTerm) matches(a *Attributes) bool {
	value := t.valueIn(a)
	if t.equal {
		return value == t.value
	}
	return !t.not.has(value)
}

func (t *fieldTerm) valueIn(a *Attributes) string {
	switch {
	case t.place == atName:
		return a.Name
	case t.place == atNamespace:
		return a.Namespace
	case t.place >= 0 && t.place < len(a.Fields):
		return a.Fields[t.place]
	default:
		return ""
	}
}

// appendTo writes the term so that terms which ask the same are written the same.
func (t *fieldTerm) appendTo(dst []byte) []byte {
	dst = strconv.AppendQuote(dst, t.label)
	if t.equal {
		return strconv.AppendQuote(append(dst, " = "...), t.value)
	}
	return t.not.appendTo(append(dst, " !="...))
}
