package wire

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// PrecompressedPage contains the precompressed runs of one page and is a part of that page. The zero value has no runs.
type PrecompressedPage struct{ pageRuns atomic.Pointer[pageRuns] }

// pageRuns contains the runs of a page. It has no pointer to the page, so that cached runs do not keep pages in memory.
type pageRuns struct {
	cache *Precompressed
	all   atomic.Pointer[[]*precompressedRun] // replaced as a unit, under Precompressed.mu
}

func (s *pageRuns) runs() []*precompressedRun {
	if all := s.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (s *pageRuns) set(all []*precompressedRun) { s.all.Store(&all) }

func (s *pageRuns) remove(run *precompressedRun) {
	s.set(slices.DeleteFunc(slices.Clone(s.runs()), func(other *precompressedRun) bool { return other == run }))
}

// on returns the runs of the page, and creates the pageRuns on first use. The garbage collector drops them with the
// page.
func (p *PrecompressedPage) on(f *Precompressed) *pageRuns {
	if s := p.pageRuns.Load(); s != nil {
		return s
	}
	s := &pageRuns{cache: f}
	if !p.pageRuns.CompareAndSwap(nil, s) {
		return p.pageRuns.Load()
	}
	runtime.AddCleanup(p, f.drop, s)
	return s
}

// Drop drops the runs, because the page is no longer part of the newest State. Readers of an older State may make runs
// again. Drop does not block.
func (p *PrecompressedPage) Drop() {
	if s := p.pageRuns.Load(); s != nil && len(s.runs()) > 0 {
		s.cache.tryDrop(s)
	}
}
