package wire

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// PageForms are the forms of one page, which it is a part of. The zero PageForms has none.
type PageForms struct{ shelf atomic.Pointer[shelf] }

// shelf is what is kept for a page. It does not point to it, so that what is kept keeps no page alive.
type shelf struct {
	keeper *Forms
	all    atomic.Pointer[[]*pageForm] // replaced as a whole, under Forms.mu
}

func (s *shelf) forms() []*pageForm {
	if all := s.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (s *shelf) set(all []*pageForm) { s.all.Store(&all) }

func (s *shelf) remove(form *pageForm) {
	s.set(slices.DeleteFunc(slices.Clone(s.forms()), func(other *pageForm) bool { return other == form }))
}

// on is the shelf for the page, which is cleared when nobody holds the page any more.
func (p *PageForms) on(f *Forms) *shelf {
	if s := p.shelf.Load(); s != nil {
		return s
	}
	s := &shelf{keeper: f}
	if !p.shelf.CompareAndSwap(nil, s) {
		return p.shelf.Load()
	}
	runtime.AddCleanup(p, f.drop, s)
	return s
}

// Drop drops them because their page is no longer part of the newest State. Who still reads an older one may have them
// made again. It does not wait for anybody.
func (p *PageForms) Drop() {
	if s := p.shelf.Load(); s != nil && len(s.forms()) > 0 {
		s.keeper.tryDrop(s)
	}
}
