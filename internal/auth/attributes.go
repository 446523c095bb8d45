package auth

import (
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Attributes are the input of an authorizer: the parsed request with its selectors. Selectors matter because the Node
// authorizer and CEL authorizers may allow a list only with a certain selector (KEP-4601).
type Attributes struct {
	Caller                   *Caller
	Verb                     string // get, list or watch; for non-resource paths the HTTP method in lower case
	Path                     string // non-resource path; empty for resources
	Group, Version, Resource string
	Subresource              string
	Namespace                string // "" is all namespaces; a metadata.namespace selector does not narrow it
	Name                     string // set also by a field selector metadata.name=value
	Labels                   labels.Requirements
	Fields                   fields.Requirements
	// PassedThrough is true for requests that are forwarded to the upstream without reading the cache.
	PassedThrough bool
}

// key identifies the decision: attributes with equal keys have the same decision. Every part is quoted, because names
// come from paths and may contain any byte. Different parts therefore never form the same key.
func (a Attributes) key() string {
	return string(a.appendKey(make([]byte, 0, typicalKeySize), a.callerKey()))
}

func (a Attributes) callerKey() string {
	if a.Caller == nil {
		return ""
	}
	return a.Caller.key
}

// typicalKeySize is a size in bytes that most keys do not exceed, so they are built on the stack.
const typicalKeySize = 256

func (a Attributes) appendKey(b []byte, caller string) []byte {
	for _, part := range [...]string{caller, a.Verb, a.Path, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace,
		a.Name} {
		b = strconv.AppendQuote(b, part)
	}
	b = append(strconv.AppendBool(b, a.PassedThrough), '|')
	for _, r := range a.Fields {
		b = strconv.AppendQuote(strconv.AppendQuote(strconv.AppendQuote(b, r.Field), string(r.Operator)), r.Value)
	}
	b = append(b, '|')
	for _, r := range a.Labels {
		b = strconv.AppendQuote(b, r.String())
	}
	return b
}

// Decision shows that the authorizer allowed one request. Only this package can create a Decision that allows anything:
// the zero value covers nothing.
type Decision struct {
	key    string
	reason string
}

// Reason returns the reason that the authorizer gave; often empty.
func (g Decision) Reason() string { return g.reason }

// Covers reports whether the decision was made for these attributes.
func (g Decision) Covers(a Attributes) bool {
	return g.key != "" && g.key == string(a.appendKey(make([]byte, 0, typicalKeySize), a.callerKey()))
}
