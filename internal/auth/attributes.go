package auth

import (
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Attributes are what an authorizer decides on: the parsed request, selectors included, because kube-apiserver's Node
// authorizer and every CEL authorizer may allow a list only with its selector (KEP-4601).
type Attributes struct {
	Caller                   *Caller // who asks
	Verb                     string  // get, list or watch; of a path that is no resource's, the method in lower case
	Path                     string  // of what is no resource; empty for resources
	Group, Version, Resource string
	Subresource              string
	Namespace                string // "" is all namespaces; never narrowed by a metadata.namespace selector
	Name                     string // also when a field selector pins metadata.name
	Labels                   labels.Requirements
	Fields                   fields.Requirements
	// PassedThrough: the cache is not looked at, the upstream answers.
	PassedThrough bool
}

// key names the decision: equal keys are the same question. Every part is quoted, since names come out of paths and may
// hold any byte: no part can be taken for two.
func (a Attributes) key() string { return string(a.appendKey(make([]byte, 0, usualKey))) }

// usualKey is more than most keys have, so that they are put together on the stack.
const usualKey = 256

func (a Attributes) appendKey(b []byte) []byte {
	caller := ""
	if a.Caller != nil {
		caller = a.Caller.key
	}
	for _, part := range [...]string{caller, a.Verb, a.Path, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name} {
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

// Decision is the authorizer's proof that one request is allowed. Only this package can make one that allows anything:
// the zero value covers nothing.
type Decision struct {
	key    string
	reason string
}

// Reason is why, in the authorizers' words; often empty.
func (g Decision) Reason() string { return g.reason }

// Covers tells whether the grant was given for these attributes.
func (g Decision) Covers(a Attributes) bool {
	return g.key != "" && g.key == string(a.appendKey(make([]byte, 0, usualKey)))
}
