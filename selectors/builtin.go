package selectors

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin is what kube-apiserver 1.37 offers for one built-in kind that has a field table of its own. What came after
// 1.19 to a kind that was there says since when; whether an upstream has it is asked of the upstream. Its sources there
// are AddFieldLabelConversionFunc (which labels) and the registry's GetAttrs (which values); semantics 5.3 joins them.
type builtin struct {
	group    string
	kind     string
	versions []string // a version that is not listed has the default table
	metadata []string // which of metadata.name and metadata.namespace are accepted
	fields   []offer
	aliases  map[string]string // further labels of a request -> canonical label
	refuse   refusal
}

// offer is one Field and the label by which a request asks for it.
type offer struct {
	request string
	field   Field
	release string // the one that brought it, when the kind was there before; empty when 1.19 has it
}

// at offers the value that lies where its label says.
func at(label string) offer { return from(label, label) }

// from offers a value by its canonical label, found at the first of paths that has one.
func from(label string, paths ...string) offer {
	return offer{request: label, field: Field{Label: label, Paths: paths, Spread: OfTemplate}}
}

// renamed offers a value that requests and JSON call one thing, and the server's field set another.
func renamed(request, label string) offer {
	return offer{request: request, field: Field{Label: label, Paths: []string{request}, Spread: OfTemplate}}
}

// or gives the offer the value of an object that leaves the field out.
func (o offer) or(zero string) offer {
	o.field.Default = zero
	return o
}

// spread says how the values are spread, when not as a template has it.
func (o offer) spread(s Spread) offer {
	o.field.Spread = s
	return o
}

// since says which release brought the field, or has it for certain: a kube-apiserver before it may refuse to select by
// it.
func (o offer) since(release string) offer {
	o.release = release
	return o
}

// kindOf makes the Kind of one served version.
func (b *builtin) kindOf(gvk schema.GroupVersionKind, scope Scope) *Kind {
	k := &Kind{gvk: gvk, scope: scope, accepted: identity(b.metadata...), later: map[string]bool{}, refuse: b.refuse}
	for _, o := range b.fields {
		k.fields = append(k.fields, o.field)
		k.accepted[o.request] = o.field.Label
		if o.release != "" {
			k.later[o.request] = true
		}
	}
	for alias, label := range b.aliases {
		k.accepted[alias] = label
	}
	return k
}

// FieldKinds are the kinds, in every version, that kube-apiserver itself defines and that are selected by more than
// metadata.
func FieldKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for i := range builtins {
		for _, version := range builtins[i].versions {
			kinds = append(kinds, schema.GroupVersionKind{Group: builtins[i].group, Version: version, Kind: builtins[i].kind})
		}
	}
	return kinds
}

// lookupBuiltin finds the table of a kind in a version.
func lookupBuiltin(gvk schema.GroupVersionKind) (*builtin, bool) {
	for i := range builtins {
		b := &builtins[i]
		if b.kind == gvk.Kind && b.group == gvk.Group && slices.Contains(b.versions, gvk.Version) {
			return b, true
		}
	}
	return nil, false
}
