package cache

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/wire"
)

// Page is a run of neighbouring objects, immutable (I2). It has identity: as long as none of its objects changes, the
// same *Page stands in every State, so what is prepared for a page once serves many answers. It is a wire.Page.
type Page struct {
	objects       []*Object
	bytes         atomic.Int64 // of its items; 0 until somebody asked, so that writers need not look at every object
	precompressed wire.PrecompressedPage
	segment       atomic.Pointer[joint] // that begins on this page and ends on another; nil while no answer had one
	// In place of forms, on a page that was joined for one answer; nil on those of a tree
	kept *wire.PrecompressedPage
}

// Len returns how many objects the page has: 1 to 128, about 64.
func (p *Page) Len() int {
	return len(p.objects)
}

// Item returns the object at a place from 0 up to but not including Len, as answers are written from it.
func (p *Page) Item(at int) *wire.Item {
	return p.objects[at].Item()
}

// Precompressed returns what is kept of what the page looks like in bodies.
func (p *Page) Precompressed() *wire.PrecompressedPage {
	if p.kept != nil {
		return p.kept
	}
	return &p.precompressed
}

// dropPrecompressed drops what is kept of a page that is no longer part of the newest State.
func (p *Page) dropPrecompressed() {
	p.precompressed.Drop()
	if joint := p.segment.Load(); joint != nil {
		joint.precompressed.Drop()
	}
}

// Bytes returns how many bytes the page's items have together. Only the first call looks at the objects.
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

func (p *Page) last() *Object {
	return p.objects[len(p.objects)-1]
}

// Run is the part of a page that belongs to an answer: Page's objects From up to but not including To.
type Run struct {
	Page     *Page
	From, To int
}

// Objects returns the run's objects. The slice is the page's own: reading only (I2).
func (r Run) Objects() []*Object {
	return r.Page.objects[r.From:r.To:r.To]
}

// Bytes returns how many bytes the run's items have together.
func (r Run) Bytes() int64 {
	if r.To-r.From == r.Page.Len() {
		return r.Page.Bytes()
	}
	return itemBytes(r.Objects())
}
