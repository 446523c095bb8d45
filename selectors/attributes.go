package selectors

// Attributes is all that a Predicate looks at in an object. Immutable; made by its Kind.
type Attributes struct {
	key, namespace, name string
	labels               LabelSet
	fields               []string // parallel to Kind.Fields
}

// Attributes returns those of one object of the kind. namespace is empty for objects of a cluster-scoped kind; labels
// are sorted bytewise by key, each key once; fields are parallel to Fields, and missing ones are empty.
func (k *Kind) Attributes(namespace, name string, labels []Label, fields []string) Attributes {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	return Attributes{key: key, namespace: namespace, name: name, labels: LabelSet{labels}, fields: fields}
}

// Key returns where the object stands in the upstream's storage: "namespace/name", or "name" when it has no namespace
// (semantics 2.7).
func (a *Attributes) Key() string { return a.key }

// Namespace returns metadata.namespace, empty for objects of a cluster-scoped kind.
func (a *Attributes) Namespace() string { return a.namespace }

// Name returns metadata.name.
func (a *Attributes) Name() string { return a.name }

// Labels returns metadata.labels.
func (a *Attributes) Labels() LabelSet { return a.labels }

// Field returns the value of a field that the object's kind has at a place (Kind.Place). One that the object lacks is
// empty.
func (a *Attributes) Field(at Place) string {
	switch {
	case at == atName:
		return a.name
	case at == atNamespace:
		return a.namespace
	case at >= 0 && int(at) < len(a.fields):
		return a.fields[at]
	default:
		return ""
	}
}
