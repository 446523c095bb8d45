package selectors

import "unique"

// Attributes contains the data of an object that a Predicate compares. It is immutable and made by its Kind. A cluster
// has millions of Attributes with similar content. Data that many objects have in common therefore has one copy in
// memory (package unique). Each object's own data is one string.
type Attributes struct {
	own      string                  // key, position of the name in the key, hash of the UID, the object's own fields
	template unique.Handle[template] // data common to objects of one template; zero when empty
	placed   unique.Handle[string]   // values shared across templates; zero when empty
}

// template contains the data that objects of one template have in common, such as the pods of a ReplicaSet. Objects
// with different label values still share their label keys.
type template struct {
	keys   unique.Handle[string] // label keys, sorted
	labels string                // label values
	fields unique.Handle[string] // field values
}

// Identity contains the parts of an object's metadata that never change.
type Identity struct {
	Namespace string // empty for cluster-scoped kinds
	Name, UID string
}

// Attributes returns the attributes of one object of the kind. The labels are sorted bytewise by key, without duplicate
// keys. The fields are parallel to Fields, with "" for missing values. The result keeps none of the arguments' memory.
func (k *Kind) Attributes(of Identity, labels []Label, fields []string) Attributes {
	a := Attributes{own: k.ownText(of, fields)}
	var few [fewBytes]byte
	if values := k.appendFields(few[:0], OfPlacement, fields); hasValues(values) {
		a.placed = unique.Make(string(values))
	}
	if values := k.appendFields(few[:0], OfTemplate, fields); len(labels) > 0 || hasValues(values) {
		a.template = unique.Make(template{keys: keysOf(labels), labels: valuesOf(labels),
			fields: unique.Make(string(values))})
	}
	return a
}

// fewBytes is the initial size, in bytes, of the buffers that collect labels and fields. The labels of most objects
// fit, so that the buffers need no memory of the heap.
const fewBytes = 512

// ownText returns the data that no other object shares (Attributes.own). The data contains the hash of the UID instead
// of the UID, which would take 28 bytes more. No request selects by the UID.
func (k *Kind) ownText(of Identity, fields []string) string {
	var few [fewBytes]byte
	own, at := few[:0], 0
	if of.Namespace == "" {
		own = appendText(own, of.Name)
	} else {
		at = len(of.Namespace) + len("/")
		own = appendLength(own, at+len(of.Name))
		own = append(append(append(own, of.Namespace...), '/'), of.Name...)
	}
	own = appendHash(appendLength(own, at), of.UID)
	return string(k.appendFields(own, Own, fields))
}

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

// Key returns the object's key in the upstream's storage: "namespace/name", or "name" without a namespace (semantics
// 2.7).
func (a *Attributes) Key() string {
	if own := a.own; own != "" && own[0] < longText {
		return own[1 : 1+int(own[0])]
	}
	return a.longKey()
}

func (a *Attributes) longKey() string {
	key, _ := cutLongText(a.own)
	return key
}

func (a *Attributes) split() (key string, name int, uid, fields string) {
	if a.own == "" { // the zero Attributes
		return "", 0, "", ""
	}
	key, rest := cutText(a.own)
	name, rest = cutLength(rest)
	return key, name, rest[:hashBytes], rest[hashBytes:]
}

func (a *Attributes) uidHash() (h uint64) {
	_, _, uid, _ := a.split()
	for i := range len(uid) {
		h |= uint64(uid[i]) << (8 * i)
	}
	return h
}

// Namespace returns metadata.namespace; it is empty for objects of a cluster-scoped kind.
func (a *Attributes) Namespace() string {
	key, name, _, _ := a.split()
	return key[:max(0, name-len("/"))]
}

// Name returns metadata.name.
func (a *Attributes) Name() string {
	key, name, _, _ := a.split()
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

// Field returns the value of the field at a location (Kind.Location). It is empty if the object lacks the field.
func (a *Attributes) Field(at Location) string {
	switch at.part {
	case ofName:
		return a.Name()
	case ofNamespace:
		return a.Namespace()
	case ofOwn:
		_, _, _, own := a.split()
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

// OwnBytes returns the bytes of memory, in addition to the struct, that no other object shares.
func (a *Attributes) OwnBytes() int { return len(a.own) }
