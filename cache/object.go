package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Object is one object at one RV, immutable (I2), made by NewObject.
type Object struct {
	// Attributes are what States, predicates and indexes look at. Their Key is the upstream's storage order.
	selectors.Attributes
	// RV is the object's own metadata.resourceVersion.
	RV   RV
	item atomic.Pointer[wire.Item]
}

// NewObject returns an object. item is what the upstream encoded it as.
func NewObject(attributes selectors.Attributes, rv RV, item wire.Item) *Object {
	o := &Object{Attributes: attributes, RV: rv}
	o.item.Store(&item)
	return o
}

// Item returns the object as the upstream encoded it. It is the same content each time, but may take less memory later.
func (o *Object) Item() *wire.Item { return o.item.Load() }

// objectOverhead is what an Object costs beside its item's bytes and what its attributes have of their own: the
// structs, its slots in pages and indexes, what allocations are rounded up by, and its part in what the pods of a
// ReplicaSet share. Labels that no other object has come on top, and are not counted.
const objectOverhead = int(unsafe.Sizeof(Object{})+unsafe.Sizeof(wire.Item{})) + 48

// Size returns the bytes of memory that the object would cost if nothing were packed, about. It never changes.
func (o *Object) Size() int {
	return o.Item().Size() + o.OwnBytes() + objectOverhead
}

// memory returns the bytes of memory that the object costs now, about.
func (o *Object) memory() int {
	return o.Item().Memory() + o.OwnBytes() + objectOverhead
}

// saved returns how many bytes packing saves of the object.
func (o *Object) saved() int64 { return int64(o.Size() - o.memory()) }

// at returns a copy of the object that carries another RV: the last content that a selector matched, at the RV of the
// event that ended it (semantics 4.4).
func (o *Object) at(rv RV, shape wire.Shape) *Object {
	return NewObject(o.Attributes, rv, shape.WithResourceVersion(o.Item(), rv.String()))
}
