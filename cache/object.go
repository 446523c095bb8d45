package cache

import (
	"sync/atomic"
	"unsafe"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Object is one object at one RV, made by NewObject. It is immutable (I2).
type Object struct {
	// States, predicates and indexes use the Attributes. Their Key sorts in the upstream's storage order.
	selectors.Attributes
	// RV is the object's own metadata.resourceVersion.
	RV   RV
	item atomic.Pointer[wire.Item]
}

// NewObject returns an object; item is the upstream's encoding of it.
func NewObject(attributes selectors.Attributes, rv RV, item wire.Item) *Object {
	o := &Object{Attributes: attributes, RV: rv}
	o.item.Store(&item)
	return o
}

// Item returns the object as the upstream encoded it. The Item that a later call returns has the same content, but may
// take less memory.
func (o *Object) Item() *wire.Item { return o.item.Load() }

// objectOverhead is the estimated cost of an Object in bytes, without its item's bytes and its attributes' own bytes.
// It includes a part of the strings shared by similar pods, but no labels that only this object has.
const objectOverhead = int(unsafe.Sizeof(Object{})+unsafe.Sizeof(wire.Item{})) + 48

// Size returns about how many bytes of memory the object would take without packing. It never changes.
func (o *Object) Size() int {
	return o.Item().Size() + o.OwnBytes() + objectOverhead
}

// memory returns about how many bytes of memory the object takes now.
func (o *Object) memory() int {
	return o.Item().Memory() + o.OwnBytes() + objectOverhead
}

func (o *Object) saved() int64 { return int64(o.Size() - o.memory()) }

// at returns a copy of the object with another RV. The copy is the last content that a selector matched, at the RV of
// the event that ended the match (semantics 4.4).
func (o *Object) at(rv RV, shape wire.Shape) *Object {
	return NewObject(o.Attributes, rv, shape.WithResourceVersion(o.Item(), rv.String()))
}
