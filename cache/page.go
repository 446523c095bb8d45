package cache

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/wire"
)

// Page is a sequence of neighbouring objects, immutable (I2). States share a *Page until a write replaces it, so work
// that is done once for a page serves many responses. It implements wire.Page.
type Page struct {
	objects       []*Object
	end           position     // position of the last object, so that a search reads no objects of other pages
	bytes         atomic.Int64 // size of the items; 0 until the first call of Bytes, because computing it is expensive
	precompressed wire.PrecompressedPage
	segment       atomic.Pointer[joint] // segment that begins here and ends on another page; nil if not needed yet
	// kept replaces precompressed on a page that was joined for one response; nil on pages of a tree.
	kept *wire.PrecompressedPage
}

// Len returns the number of objects in the page: 1 to 128.
func (p *Page) Len() int {
	return len(p.objects)
}

// Item returns the object at an index from 0 to Len-1.
func (p *Page) Item(at int) *wire.Item {
	return p.objects[at].Item()
}

// Precompressed returns the page's compressed representations.
func (p *Page) Precompressed() *wire.PrecompressedPage {
	if p.kept != nil {
		return p.kept
	}
	return &p.precompressed
}

func (p *Page) dropPrecompressed() {
	p.precompressed.Drop()
	if joint := p.segment.Load(); joint != nil {
		joint.precompressed.Drop()
	}
}

// Bytes returns the total size of the page's items.
func (p *Page) Bytes() int64 {
	bytes := p.bytes.Load()
	if bytes == 0 {
		bytes = itemBytes(p.objects)
		p.bytes.Store(bytes)
	}
	return bytes
}

func itemBytes(objects []*Object) int64 {
	bytes := int64(0)
	for _, o := range objects {
		bytes += int64(o.Item().Size())
	}
	return bytes
}

// Run is the part of a page that belongs to a response: objects From (inclusive) to To (exclusive) of Page.
type Run struct {
	Page     *Page
	From, To int
}

// Objects returns the run's objects. The slice is shared and read-only (I2).
func (r Run) Objects() []*Object {
	return r.Page.objects[r.From:r.To:r.To]
}

// Bytes returns the total size of the run's items.
func (r Run) Bytes() int64 {
	if r.To-r.From == r.Page.Len() {
		return r.Page.Bytes()
	}
	return itemBytes(r.Objects())
}
