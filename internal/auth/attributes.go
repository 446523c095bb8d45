package auth

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Attributes are what an authorizer decides on: the parsed request, selectors included, because kube-apiserver's Node
// authorizer and every CEL authorizer may allow a list only with its selector (KEP-4601).
type Attributes struct {
	Verb                     string // get, list or watch
	Group, Version, Resource string
	Namespace                string // "" is all namespaces; never narrowed by a metadata.namespace selector
	Name                     string // also when a field selector pins metadata.name
	Labels                   labels.Requirements
	Fields                   fields.Requirements
}

// key names the decision: equal keys are the same question.
func (a Attributes) key() string {
	var b strings.Builder
	for _, part := range []string{a.Verb, a.Group, a.Version, a.Resource, a.Namespace, a.Name} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	for _, r := range a.Fields {
		b.WriteString(r.Field + "\x01" + string(r.Operator) + "\x01" + r.Value + "\x00")
	}
	b.WriteByte(0)
	for _, r := range a.Labels {
		b.WriteString(r.String() + "\x00")
	}
	return b.String()
}

// Grant is the authorizer's proof that one read is allowed. Only this package can make one that allows anything: the zero
// value covers nothing.
type Grant struct {
	key string
}

// Covers tells whether the grant was given for these attributes.
func (g Grant) Covers(a Attributes) bool { return g.key != "" && g.key == a.key() }
