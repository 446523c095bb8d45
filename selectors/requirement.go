package selectors

import (
	"iter"
	"slices"
)

// Property is what an object has one value of, or none: a label, or a field that it is selected by. Properties compare
// with ==.
type Property struct {
	label string   // a label's key; empty for a field
	field Location // of a field
}

// LabelProperty is the label with a key.
func LabelProperty(key string) Property { return Property{label: key} }

// FieldProperty is a selectable field by its place (Kind.Location).
func FieldProperty(at Location) Property { return Property{field: at} }

// NameProperty is metadata.name.
func NameProperty() Property { return FieldProperty(Location{part: ofName}) }

// NamespaceProperty is metadata.namespace.
func NamespaceProperty() Property { return FieldProperty(Location{part: ofNamespace}) }

// Label returns the key of the label that the property is; false when it is a field.
func (p Property) Label() (key string, ok bool) { return p.label, p.label != "" }

// Of returns the value that an object has, and whether it has one. Every object has every field, of an empty value when
// it leaves the field out (semantics 5.2); labels it has or lacks.
func (p Property) Of(a *Attributes) (value string, has bool) {
	if p.label != "" {
		return a.Labels().Lookup(p.label)
	}
	return a.Field(p.field), true
}

// Requirement is what every object that a Predicate matches fulfils: it has one of some values of a property.
type Requirement struct {
	Property Property
	// Values are those that will do, sorted, each once: none when nothing matches. The slice is the Predicate's own.
	Values []string
	// Any says that every value will do, and Values says nothing: the label must be there.
	Any bool
}

// Fulfilled tells whether an object fulfils the requirement.
func (r *Requirement) Fulfilled(a *Attributes) bool {
	value, has := r.Property.Of(a)
	if !has || r.Any {
		return has
	}
	return slices.Contains(r.Values, value)
}

// Requirements yields what an object must fulfil for the predicate to match it; Matches may ask for more. A predicate
// that absence alone fulfils has none. Names and other fields come first, then labels, then the namespace.
func (p *Predicate) Requirements() iter.Seq[Requirement] {
	return func(yield func(Requirement) bool) {
		if !p.possible {
			yield(Requirement{Property: NameProperty()})
			return
		}
		for i := range p.fields {
			if t := &p.fields[i]; t.equal && !yield(Requirement{Property: FieldProperty(t.location), Values: []string{t.value}}) {
				return
			}
		}
		for i := range p.labels.all {
			if t := &p.labels.all[i]; t.needsKey() && !yield(t.requirement()) {
				return
			}
		}
		if p.namespace != "" {
			yield(Requirement{Property: NamespaceProperty(), Values: []string{p.namespace}})
		}
	}
}

// requirement is what labels must fulfil for the term to match them, of a term that needs its key.
func (t *labelTerm) requirement() Requirement {
	r := Requirement{Property: LabelProperty(t.key)}
	if r.Any = t.op != labelIn; !r.Any {
		r.Values = t.values.sorted
	}
	return r
}
