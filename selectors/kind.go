package selectors

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope says whether the objects of a kind are namespaced.
type Scope int

const (
	// Namespaced objects are identified by namespace and name.
	Namespaced Scope = iota
	// Cluster objects are identified by name.
	Cluster
)

// The two fields of every object. They are in Attributes and never in Kind.Fields.
const (
	nameLabel      = "metadata.name"
	namespaceLabel = "metadata.namespace"
)

// Field is one selectable field of a kind and the location of its value in the JSON of the kind's version.
type Field struct {
	// Label is the canonical field label, after conversion. Selectors, indexes and Predicate.Exact use it.
	Label string
	// Paths are dotted JSON paths, with array indexes as numbers ("status.podIPs.0.ip"). The first value that is
	// neither missing, null nor empty counts. Booleans and numbers count as their JSON text.
	Paths []string
	// Default is the value when no path has a value: the text of the field's zero value in Go.
	Default string
	// Spread says how the values are distributed over objects.
	Spread Spread
}

// Kind has the selectable fields of one kind in one version. It is immutable.
type Kind struct {
	gvk      schema.GroupVersionKind
	scope    Scope
	fields   []Field
	accepted map[string]string // field label of a request -> canonical label
	later    map[string]bool   // accepted labels that not every release of kube-apiserver supports
	refuse   refusal
}

// ForBuiltin returns the selectable fields of a built-in kind. A kind without its own table gets the server's default
// table: metadata.name and metadata.namespace, the latter even for cluster-scoped kinds (semantics 5.3).
func ForBuiltin(gvk schema.GroupVersionKind, scope Scope) *Kind {
	if b, ok := lookupBuiltin(gvk); ok {
		return b.kindOf(gvk, scope)
	}
	return &Kind{
		gvk:      gvk,
		scope:    scope,
		accepted: identity(nameLabel, namespaceLabel),
		refuse:   refuseByDefault,
	}
}

// ForCustom returns the selectable fields of a custom resource. The argument has the jsonPaths of the version's
// selectableFields in its CustomResourceDefinition (".spec.color"). The server allows neither array notation nor
// metadata in a jsonPath, so the jsonPath without its leading dot is both label and path. Only namespaced kinds accept
// metadata.namespace (semantics 5.3).
func ForCustom(gvk schema.GroupVersionKind, scope Scope, selectableFields []string) *Kind {
	k := &Kind{gvk: gvk, scope: scope, accepted: identity(nameLabel), refuse: refusePlainly}
	if scope == Namespaced {
		k.accepted[namespaceLabel] = namespaceLabel
	}
	for _, path := range selectableFields {
		label := strings.TrimPrefix(path, ".")
		k.fields = append(k.fields, Field{Label: label, Paths: []string{label}})
		k.accepted[label] = label
	}
	return k
}

// Fields returns the fields whose values the caller passes to Attributes, in this order, without metadata.name and
// metadata.namespace. The caller must not change the result.
func (k *Kind) Fields() []Field { return k.fields }

// Later returns the labels of a request's selector, before conversion, that only some releases of kube-apiserver
// support. The caller must test whether its upstream supports them.
func (k *Kind) Later(f fields.Selector) []string {
	if f == nil || len(k.later) == 0 {
		return nil
	}
	var labels []string
	for _, r := range f.Requirements() {
		if k.later[r.Field] && !slices.Contains(labels, r.Field) {
			labels = append(labels, r.Field)
		}
	}
	return labels
}

func identity(labels ...string) map[string]string {
	m := make(map[string]string, len(labels))
	for _, label := range labels {
		m[label] = label
	}
	return m
}
