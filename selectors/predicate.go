package selectors

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Predicate is everything that a request says about which objects it wants: the namespace of its path and both
// selectors. Immutable; safe for concurrent use.
type Predicate struct {
	namespace string
	name      string
	labels    labelTerms
	fields    []fieldTerm
	possible  bool // false: one of the selectors can match nothing
	canonical string
}

// Predicate compiles what a request asks for. namespace is the one in its path, empty for all namespaces and for
// cluster-scoped kinds; f is converted (ConvertFields). Nil selectors select everything.
func (k *Kind) Predicate(namespace string, l labels.Selector, f fields.Selector) *Predicate {
	p := &Predicate{namespace: namespace}
	labelTerms, labelsPossible := compileLabels(l)
	fieldTerms, fieldsPossible := k.compileFields(f)
	p.labels, p.fields = labelTerms, fieldTerms
	p.possible = labelsPossible && fieldsPossible
	p.canonical = p.describe()
	p.narrow(k.scope)
	return p
}

// narrow derives the key range from exact metadata fields, under kube-apiserver's conditions (semantics 5.4, 5.5).
func (p *Predicate) narrow(scope Scope) {
	if asked, ok := p.Exact(namespaceLabel); ok && p.namespace == "" && scope == Namespaced {
		if len(content.IsDNS1123Label(asked)) == 0 {
			p.namespace = asked
		}
	}
	if asked, ok := p.Exact(nameLabel); ok && len(content.IsPathSegmentName(asked)) == 0 {
		p.name = asked
	}
}

// Matches decides whether an object is in. It does not allocate.
func (p *Predicate) Matches(a *Attributes) bool {
	if !p.possible || (p.namespace != "" && a.Namespace() != p.namespace) {
		return false
	}
	for i := range p.fields {
		if !p.fields[i].matches(a) {
			return false
		}
	}
	return len(p.labels.all) == 0 || p.labels.match(a.Labels())
}

// Namespace returns the namespace that every match lies in: the path's, or else that of an exact metadata.namespace
// requirement (semantics 5.4). Empty means all.
func (p *Predicate) Namespace() string { return p.namespace }

// Name returns the name that every match has, from an exact metadata.name requirement (semantics 5.5). Empty means any.
// A name that no object can have, like "a/b", is not pinned; Matches refuses it object by object.
func (p *Predicate) Name() string { return p.name }

// Everything reports whether there is neither a label nor a field requirement; Namespace may still be set.
func (p *Predicate) Everything() bool {
	return p.possible && len(p.labels.all) == 0 && len(p.fields) == 0
}

// Exact returns a value that a canonical field label must have in every match. It is a hint for choosing an index
// (I9): of contradictory requirements it returns one.
func (p *Predicate) Exact(field string) (value string, ok bool) {
	for i := range p.fields {
		if t := &p.fields[i]; t.equal && t.label == field {
			return t.value, true
		}
	}
	return "", false
}

// String returns the canonical form: predicates of one Kind whose strings are equal match the same objects, and the
// order, repetition and spelling (=, ==, in) of requirements do not change it. It is the key by which watchers share a
// feed, not selector syntax: every name and value is quoted, so no value can imitate structure.
func (p *Predicate) String() string { return p.canonical }

func (p *Predicate) describe() string {
	if !p.possible {
		return "nothing"
	}
	terms := make([]string, 0, len(p.fields)+len(p.labels.all))
	for i := range p.fields {
		terms = append(terms, string(p.fields[i].appendTo([]byte("field "))))
	}
	for i := range p.labels.all {
		terms = append(terms, string(p.labels.all[i].appendTo([]byte("label "))))
	}
	slices.Sort(terms)
	text := strconv.AppendQuote([]byte("namespace "), p.namespace)
	for _, term := range slices.Compact(terms) {
		text = append(text, "; "...)
		text = append(text, term...)
	}
	return string(text)
}
