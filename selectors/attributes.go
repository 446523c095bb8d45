package selectors

import "unique"

// Attributes is all that a Predicate looks at in an object. Immutable; made by its Kind. A cluster has millions of
// these and they say much the same, so what many objects have in common stands in memory once, for as long as one of
// them has it (package unique), and an object has a pointer to it. What is its own is one text.
type Attributes struct {
	own      string                  // the key, how far in it the name is, and the fields that are the object's own
	template unique.Handle[template] // what the objects made from one template have in common; zero when that is nothing
	placed   unique.Handle[string]   // the values that recur in objects of any template; zero when they are empty
}

// template is what objects made from one template, such as the pods of a ReplicaSet, have in common. Objects that share
// no labels still share the keys of their labels.
type template struct {
	keys   unique.Handle[string] // of the labels, sorted
	labels string                // their values
	fields unique.Handle[string] // values
}

// Attributes returns those of one object of the kind. namespace is empty for objects of a cluster-scoped kind; labels
// are sorted bytewise by key, each key once; fields are parallel to Fields, and missing ones are empty. Nothing of the
// arguments' memory is kept.
func (k *Kind) Attributes(namespace, name string, labels []Label, fields []string) Attributes {
	a := Attributes{own: k.ownText(namespace, name, fields)}
	var few [fewBytes]byte
	if values := k.appendFields(few[:0], OfPlacement, fields); hasValues(values) {
		a.placed = unique.Make(string(values))
	}
	if values := k.appendFields(few[:0], OfTemplate, fields); len(labels) > 0 || hasValues(values) {
		a.template = unique.Make(template{keys: keysOf(labels), labels: valuesOf(labels), fields: unique.Make(string(values))})
	}
	return a
}

// fewBytes are those of most objects' labels, which are collected without allocating.
const fewBytes = 512

// ownText is what no other object has: the key, behind it how far in it the name is, and the object's own fields.
func (k *Kind) ownText(namespace, name string, fields []string) string {
	var few [fewBytes]byte
	if namespace == "" {
		return string(k.appendFields(appendLength(appendText(few[:0], name), 0), Own, fields))
	}
	at := len(namespace) + len("/")
	own := appendLength(few[:0], at+len(name))
	own = append(append(append(own, namespace...), '/'), name...)
	return string(k.appendFields(appendLength(own, at), Own, fields))
}

// appendFields appends the values of the fields that are spread in one way.
func (k *Kind) appendFields(dst []byte, spread Spread, fields []string) []byte {
	for i := range min(len(k.fields), len(fields)) {
		if k.fields[i].Spread == spread {
			dst = appendText(dst, fields[i])
		}
	}
	return dst
}

func keysOf(labels []Label) unique.Handle[string] {
	var few [fewBytes]byte
	keys := few[:0]
	for i := range labels {
		keys = appendText(keys, labels[i].Key)
	}
	return unique.Make(string(keys))
}

func valuesOf(labels []Label) string {
	var few [fewBytes]byte
	values := few[:0]
	for i := range labels {
		values = appendText(values, labels[i].Value)
	}
	return string(values)
}

// Key returns where the object stands in the upstream's storage: "namespace/name", or "name" when it has no namespace
// (semantics 2.7).
func (a *Attributes) Key() string {
	if own := a.own; own != "" && own[0] < longText {
		return own[1 : 1+int(own[0])]
	}
	return a.longKey()
}

// longKey is Key of one that is long.
func (a *Attributes) longKey() string {
	key, _ := cutLongText(a.own)
	return key
}

// split returns the key, where in it the name begins, and the fields behind.
func (a *Attributes) split() (key string, name int, fields string) {
	key, rest := cutText(a.own)
	name, fields = cutLength(rest)
	return key, name, fields
}

// Namespace returns metadata.namespace, empty for objects of a cluster-scoped kind.
func (a *Attributes) Namespace() string {
	key, name, _ := a.split()
	return key[:max(0, name-len("/"))]
}

// Name returns metadata.name.
func (a *Attributes) Name() string {
	key, name, _ := a.split()
	return key[name:]
}

// Labels returns metadata.labels.
func (a *Attributes) Labels() LabelSet {
	if a.template == (unique.Handle[template]{}) {
		return LabelSet{}
	}
	t := a.template.Value()
	return LabelSet{keys: t.keys.Value(), values: t.labels}
}

// Field returns the value of a field that the object's kind has at a place (Kind.Location). One that the object lacks
// is empty.
func (a *Attributes) Field(at Location) string {
	switch at.part {
	case ofName:
		return a.Name()
	case ofNamespace:
		return a.Namespace()
	case ofOwn:
		_, _, own := a.split()
		return textAt(own, at.position)
	case ofPlacement:
		if a.placed != (unique.Handle[string]{}) {
			return textAt(a.placed.Value(), at.position)
		}
	case ofTemplate:
		if a.template != (unique.Handle[template]{}) {
			return textAt(a.template.Value().fields.Value(), at.position)
		}
	case nowhere:
	}
	return ""
}

// OwnBytes returns the bytes of memory, beside the struct, that no other object shares.
func (a *Attributes) OwnBytes() int { return len(a.own) }
