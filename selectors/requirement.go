package selectors

import (
	"iter"
	"slices"
)

// Property is a label or a selectable field, of which an object has at most one value. Properties compare with ==.
type Property struct {
	label string // empty for a field
	field Location
}

// LabelProperty returns the property of a label key.
func LabelProperty(key string) Property { return Property{label: key} }

// FieldProperty returns the property of a selectable field at a location (Kind.Location).
func FieldProperty(at Location) Property { return Property{field: at} }

// NameProperty returns the property metadata.name.
func NameProperty() Property { return FieldProperty(Location{part: ofName}) }

// NamespaceProperty returns the property metadata.namespace.
func NamespaceProperty() Property { return FieldProperty(Location{part: ofNamespace}) }

// Label returns the label key of the property; ok is false for a field.
func (p Property) Label() (key string, ok bool) { return p.label, p.label != "" }

// Of returns the value of the property in an object. has is false if the object lacks the label. A field that the
// object lacks has the value "" (semantics 5.2).
func (p Property) Of(a *Attributes) (value string, has bool) {
	if p.label != "" {
		return a.Labels().Lookup(p.label)
	}
	return a.Field(p.field), true
}

// Requirement is a condition that every match of a Predicate fulfils: a property has one of some values, or the object
// is in one of some shards.
type Requirement struct {
	Property Property
	// Values are the accepted values, sorted, without duplicates. If Any is false and Values is empty, nothing matches.
	// The slice is shared and read-only.
	Values []string
	// Any means that every value is accepted, but the label must exist. Values is then unused.
	Any bool
	// Shards are the accepted shards. If Shards is not nil, the other fields are unused.
	Shards *Shards
}

// Fulfilled reports whether an object fulfils the requirement.
func (r *Requirement) Fulfilled(a *Attributes) bool {
	if r.Shards != nil {
		return r.Shards.Matches(a)
	}
	value, has := r.Property.Of(a)
	if !has || r.Any {
		return has
	}
	return slices.Contains(r.Values, value)
}

// Requirements yields necessary conditions for a match; Matches may require more. Names and other fields come first,
// then labels, shards and namespace.
func (p *Predicate) Requirements() iter.Seq[Requirement] {
	return func(yield func(Requirement) bool) {
		if !p.possible {
			yield(Requirement{Property: NameProperty()})
			return
		}
		for i := range p.fields {
			if t := &p.fields[i]; t.equal &&
				!yield(Requirement{Property: FieldProperty(t.location), Values: []string{t.value}}) {
				return
			}
		}
		for i := range p.labels.all {
			if t := &p.labels.all[i]; t.needsKey() && !yield(t.requirement()) {
				return
			}
		}
		if p.shards != nil && !yield(Requirement{Shards: p.shards}) {
			return
		}
		if p.namespace != "" {
			yield(Requirement{Property: NamespaceProperty(), Values: []string{p.namespace}})
		}
	}
}

// requirement returns the condition that labels fulfil when the term matches. The term must need its key (needsKey).
func (t *labelTerm) requirement() Requirement {
	r := Requirement{Property: LabelProperty(t.key)}
	if r.Any = t.op != labelIn; !r.Any {
		r.Values = t.values.sorted
	}
	return r
}
