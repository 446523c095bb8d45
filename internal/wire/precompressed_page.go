package wire

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// PrecompressedPage are the forms of one page, which it is a part of. The zero PrecompressedPage has none.
type PrecompressedPage struct{ shelf atomic.Pointer[shelf] }

// shelf is what is kept for a page. It does not point to it, so that what is kept keeps no page alive.
type shelf struct {
	keeper *Precompressed
	all    atomic.Pointer[[]*precompressedRun] // replaced as a whole, under Precompressed.mu
}

func (s *shelf) runs() []*precompressedRun {
	if all := s.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (s *shelf) set(all []*precompressedRun) { s.all.Store(&all) }

func (s *shelf) remove(representation *precompressedRun) {
	s.set(slices.DeleteFunc(slices.Clone(s.runs()), func(other *precompressedRun) bool { return other == representation }))
}

// on is the shelf for the page, which is cleared when nobody holds the page any more.
func (p *PrecompressedPage) on(f *Precompressed) *shelf {
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
func (p *PrecompressedPage) Drop() {
	if s := p.shelf.Load(); s != nil && len(s.runs()) > 0 {
		s.keeper.tryDrop(s)
	}
}
