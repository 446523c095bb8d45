package cache

import (
	"iter"

	"github.com/listfacade/listfacade/selectors"
)

// Selection is a walk over what a predicate selects of a State, page by page: when it selects everything in its span,
// over whole pages, and nothing is asked of their objects. Used by one goroutine.
type Selection struct {
	// Looked is how many candidates were looked at so far, Selected how many of them are selected.
	Looked, Selected int

	state      *State
	predicate  *selectors.Predicate
	from       string
	candidates iter.Seq[Run]
	by         *demand // of the index that the candidates are of, when the lane has built it by itself
	indexed    bool    // the candidates are those of an index
	limit      int     // where the walk ends; 0 when it does not
	more       bool    // candidates are left behind the limit
}

// Selection returns a walk over the objects that p matches, in key order from the key from on. The candidates are every
// object that p can match and as few others as an index or p's key range allows; the predicate decides (I9).
func (s *State) Selection(p *selectors.Predicate, from string) *Selection {
	t, in, by := s.narrow(p, from)
	indexed := t != &s.objects
	walk := t.runs
	if indexed || p.Namespace() != "" {
		walk = t.segments
	}
	return &Selection{state: s, predicate: p, from: from, candidates: walk(in), by: by, indexed: indexed}
}

// Candidates yields what could be selected of the State, for an estimate of what a walk will find: it counts as none.
func (s *State) Candidates(p *selectors.Predicate, from string) iter.Seq[Run] {
	t, in, _ := s.narrow(p, from)
	return t.runs(in)
}

// Runs yields the selected objects in runs as long as can be: of a namespace, or of one value of an index, in segments.
// Each walk over them is a new one, and counts anew.
func (s *Selection) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		s.Looked, s.Selected, s.more = 0, 0, false
		defer s.tell()
		for run := range s.candidates {
			if !s.pick(run, yield) {
				return
			}
		}
	}
}

// Candidates yields what could be selected, in runs that Selects is to be asked about, which counts.
func (s *Selection) Candidates() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		defer s.tell()
		s.candidates(yield)
	}
}

// tell lets the lane know what a walk has cost that an index would save, or what its index has saved (indexer).
func (s *Selection) tell() {
	switch x := s.state.epoch.indexer; {
	case s.predicate.Everything():
	case s.by != nil:
		x.used(s.state, s.by, s.state.Count(spanOf(s.predicate, s.from))-s.Looked)
	case !s.indexed:
		x.missed(s.state, s.predicate, s.Looked-s.Selected)
	}
}

// Selects tells whether a candidate is selected, and counts it.
func (s *Selection) Selects(p *Page, at int) bool {
	s.Looked++
	selects := s.predicate.Matches(&p.objects[at].Attributes)
	if selects {
		s.Selected++
	}
	return selects
}

// pick yields what is selected of a run of candidates; false ends the walk.
func (s *Selection) pick(run Run, yield func(Run) bool) bool {
	for run.From < run.To {
		if s.limit > 0 && s.Selected == s.limit {
			s.more = true
			return false
		}
		selected, next := s.leading(run)
		if selected.From < selected.To && !yield(selected) {
			return false
		}
		run.From = next
	}
	return true
}

// leading is the part at the beginning of a run that is selected, which may be empty, and where to go on behind it.
func (s *Selection) leading(run Run) (selected Run, next int) {
	most := run.To
	if s.limit > 0 {
		most = run.From + min(most-run.From, s.limit-s.Selected) // a client may name any limit
	}
	to := most
	if !s.predicate.Everything() {
		to = run.From
		for to < most && s.predicate.Matches(&run.Page.objects[to].Attributes) {
			to++
		}
	}
	s.Looked += to - run.From
	s.Selected += to - run.From
	if next = to; to < most { // the one that ended it was looked at, too
		s.Looked++
		next++
	}
	return Run{Page: run.Page, From: run.From, To: to}, next
}
