package reflector

import (
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Description says how a lane selects and represents the objects of a resource. Immutable.
type Description struct {
	Kind     *selectors.Kind
	About    wire.Description
	resource upstream.Resource
}

// Describe returns the Description of a resource. crd is the definition of a custom resource as JSON. It is nil for a
// built-in resource, or if the definition is unknown. The list kind is then the kind with the suffix List.
func Describe(r upstream.Resource, crd []byte) (*Description, error) {
	d := definition{listKind: r.GVK.Kind + "List"}
	if crd != nil {
		read, err := readDefinition(crd, r)
		if err != nil {
			return nil, err
		}
		if read.listKind == "" {
			read.listKind = d.listKind
		}
		d = read
	}
	return &Description{
		Kind: kindOf(r, d), resource: r,
		About: wire.Description{Resource: r.GVR, Kind: r.GVK, ListKind: d.listKind, Custom: r.Custom, DatePaths: d.datePaths},
	}, nil
}

// Reader returns the reader of objects that were requested with the given Accept header.
func (d *Description) Reader(e wire.Encoding, accept string) wire.Reader {
	return e.Reader(d.About, wire.RequestFormat{Accept: accept}, pathsOf(d.Kind))
}

// Object returns the object that an item of a list or event contains.
func (d *Description) Object(item wire.Item, facts *wire.Facts) (*cache.Object, error) {
	return objectOf(d.resource, d.Kind, item, facts)
}

// Scope returns the scope of the objects.
func (d *Description) Scope() selectors.Scope { return scopeOf(d.resource) }
