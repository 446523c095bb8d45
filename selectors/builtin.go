package selectors

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin lists the selectable fields of one built-in kind that has its own field table in kube-apiserver 1.37. The
// sources in kube-apiserver are AddFieldLabelConversionFunc (labels) and the registry's GetAttrs (values). Semantics
// 5.3 combines them.
type builtin struct {
	group    string
	kind     string
	versions []string // other versions have the default table
	metadata []string // metadata fields that selectors may use: metadata.name, metadata.namespace or both
	fields   []offer
	aliases  map[string]string // additional labels of requests -> canonical label
	refuse   refusal
}

// offer is one Field and the label that requests use for it.
type offer struct {
	request string
	field   Field
	release string // release that added the field to an existing kind; empty if 1.19 has the field
}

// at returns an offer of a field whose label is also the JSON path of its value.
func at(label string) offer { return from(label, label) }

// from returns an offer of a field with a canonical label. The first path that leads to a value counts.
func from(label string, paths ...string) offer {
	return offer{request: label, field: Field{Label: label, Paths: paths, Spread: OfTemplate}}
}

// renamed returns an offer of a field whose name in requests and JSON differs from its label in the server's field set.
func renamed(request, label string) offer {
	return offer{request: request, field: Field{Label: label, Paths: []string{request}, Spread: OfTemplate}}
}

// or sets the value of objects that lack the field.
func (o offer) or(zero string) offer {
	o.field.Default = zero
	return o
}

// spread sets how the values are distributed. The default is OfTemplate.
func (o offer) spread(s Spread) offer {
	o.field.Spread = s
	return o
}

// since sets the first release that certainly has the field. The facade tests whether its upstream has the field.
func (o offer) since(release string) offer {
	o.release = release
	return o
}

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

// FieldKinds returns the built-in kinds with selectable fields other than metadata, in every version that has them.
func FieldKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for i := range builtins {
		for _, version := range builtins[i].versions {
			kinds = append(kinds, schema.GroupVersionKind{Group: builtins[i].group, Version: version, Kind: builtins[i].kind})
		}
	}
	return kinds
}

func lookupBuiltin(gvk schema.GroupVersionKind) (*builtin, bool) {
	for i := range builtins {
		b := &builtins[i]
		if b.kind == gvk.Kind && b.group == gvk.Group && slices.Contains(b.versions, gvk.Version) {
			return b, true
		}
	}
	return nil, false
}
