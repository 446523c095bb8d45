package selectors

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope says whether the objects of a kind live in namespaces.
type Scope int

const (
	// Namespaced objects are told apart by namespace and name.
	Namespaced Scope = iota
	// Cluster objects are told apart by name alone.
	Cluster
)

// The two fields that every object has; they are part of Attributes and never of Kind.Fields.
const (
	nameLabel      = "metadata.name"
	namespaceLabel = "metadata.namespace"
)

// Field is one selectable field of a kind and where its value lies in the JSON of the kind's version.
type Field struct {
	// Label is the canonical field label, after conversion: what selectors, indexes and Predicate.Exact use.
	Label string
	// Paths are dotted JSON paths, array indexes as numbers ("status.podIPs.0.ip"); the first whose value is neither
	// missing, null nor empty counts. Booleans and numbers count as their JSON text.
	Paths []string
	// Default is the value when no path has one: the text of Go's zero value of that field.
	Default string
	// Spread says how Attributes keep the value.
	Spread Spread
}

// Kind knows the selectable fields of one kind in one version. Immutable.
type Kind struct {
	gvk      schema.GroupVersionKind
	scope    Scope
	fields   []Field
	accepted map[string]string // field label of a request -> canonical label
	later    map[string]bool   // those of them that not every release knows
	refuse   refusal
}

// ForBuiltin returns the selectable fields of a kind that kube-apiserver itself defines. A kind without an entry of its
// own, and whatever this package has never heard of, offers what the server's default table does: metadata.name and
// metadata.namespace, the latter for cluster-scoped kinds too (semantics 5.3).
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

// ForCustom returns the selectable fields of a custom resource. selectableFields are the jsonPaths of the version's
// selectableFields in its CustomResourceDefinition, as written there (".spec.color"); the server allows neither array
// notation nor metadata in them, so without their leading dot they are label and path at once. metadata.namespace is
// accepted for namespaced kinds only (semantics 5.3).
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

// Fields returns the fields whose values a caller has to give to Attributes, in that order; metadata.name and
// metadata.namespace are not among them. The caller must not change the result.
func (k *Kind) Fields() []Field { return k.fields }

// Later returns the labels of a request's selector, before conversion, by which only some releases of kube-apiserver
// select; whoever stands in front of one asks it. nil for custom resources, whose definitions say it all.
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

// identity maps each label to itself.
func identity(labels ...string) map[string]string {
	m := make(map[string]string, len(labels))
	for _, label := range labels {
		m[label] = label
	}
	return m
}
