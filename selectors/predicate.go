package selectors

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Predicate combines the namespace in a request's path and its selectors. It is immutable and safe for concurrent use.
type Predicate struct {
	namespace string
	name      string
	labels    labelTerms
	fields    []fieldTerm
	shards    *Shards
	possible  bool // false if a selector cannot match any object
	canonical string
}

// Predicate compiles the selection of a request. The namespace is from the request's path, empty for all namespaces and
// for cluster-scoped kinds. The field selector f is converted (ConvertFields). A nil selector selects everything.
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

// Within returns the predicate of the objects that p matches and that are in the given shards. For nil it returns p.
func (p *Predicate) Within(shards *Shards) *Predicate {
	if shards == nil {
		return p
	}
	within := *p
	within.shards = shards
	within.canonical += "; " + shards.canonical
	return &within
}

// Shards returns the shards that the request selects; nil if it has no shardSelector.
func (p *Predicate) Shards() *Shards { return p.shards }

// narrow derives the key range from exact metadata fields, under kube-apiserver's conditions (semantics 5.4, 5.5).
func (p *Predicate) narrow(scope Scope) {
	if namespace, ok := p.Exact(namespaceLabel); ok && p.namespace == "" && scope == Namespaced {
		if len(content.IsDNS1123Label(namespace)) == 0 {
			p.namespace = namespace
		}
	}
	if name, ok := p.Exact(nameLabel); ok && len(content.IsPathSegmentName(name)) == 0 {
		p.name = name
	}
}

// Matches reports whether the request selects an object. It does not allocate.
func (p *Predicate) Matches(a *Attributes) bool {
	if !p.possible || (p.namespace != "" && a.Namespace() != p.namespace) || p.shards != nil && !p.shards.Matches(a) {
		return false
	}
	for i := range p.fields {
		if !p.fields[i].matches(a) {
			return false
		}
	}
	return len(p.labels.all) == 0 || p.labels.match(a.Labels())
}

// Namespace returns the namespace of every match, from the path or from an exact metadata.namespace requirement
// (semantics 5.4). It is empty if matches may be in any namespace.
func (p *Predicate) Namespace() string { return p.namespace }

// Name returns the name of every match, from an exact metadata.name requirement (semantics 5.5). It is empty if matches
// may have any name, and for a name that no object can have, such as "a/b".
func (p *Predicate) Name() string { return p.name }

// Everything reports whether there are no selectors. Namespace may still be set.
func (p *Predicate) Everything() bool {
	return p.possible && len(p.labels.all) == 0 && len(p.fields) == 0 && p.shards == nil
}

// OnlyKeys reports whether the request selects by namespace, name and shard only. These properties of an object never
// change, so an update never moves an object into or out of such a selection.
func (p *Predicate) OnlyKeys() bool {
	for i := range p.fields {
		if label := p.fields[i].label; label != nameLabel && label != namespaceLabel {
			return false
		}
	}
	return len(p.labels.all) == 0
}

// Exact returns the value that the field with a canonical label must have in every match. It returns false if p
// requires no value. It is a hint for choosing an index (I9). If requirements contradict each other, it returns one of
// their values.
func (p *Predicate) Exact(field string) (value string, ok bool) {
	for i := range p.fields {
		if t := &p.fields[i]; t.equal && t.label == field {
			return t.value, true
		}
	}
	return "", false
}

// String returns the canonical text. Predicates of one Kind with equal texts match the same objects. The text does not
// depend on the order, repetition and notation (=, ==, in) of requirements. The text is not selector syntax: every name
// and value is quoted, so a value cannot be mistaken for syntax.
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
