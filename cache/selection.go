package cache

import (
	"iter"

	"github.com/listfacade/listfacade/selectors"
)

// Selection iterates over the objects of a State that a predicate selects. When the predicate selects everything in its
// span, the Selection compares no object. A Selection is used by one goroutine.
type Selection struct {
	// Looked is the number of candidates visited so far, Selected the number of candidates selected.
	Looked, Selected int

	state      *State
	predicate  *selectors.Predicate
	from       string
	candidates iter.Seq[Run]
	by         *demand // measured use of the candidates' index if the lane has built it, else nil
	indexed    bool    // whether the candidates come from an index
	limit      int     // maximum of Selected; 0 means no limit
	more       bool    // whether candidates follow after the limit
}

// Selection returns an iteration over the objects that p matches, in key order, at or after the key from. An index only
// proposes candidates; p decides (I9).
func (s *State) Selection(p *selectors.Predicate, from string) *Selection {
	t, in, by := s.narrow(p, from)
	indexed := t != &s.objects
	walk := t.runs
	if indexed || p.Namespace() != "" {
		walk = t.segments
	}
	return &Selection{state: s, predicate: p, from: from, candidates: walk(in), by: by, indexed: indexed}
}

// Candidates yields the objects that p may select, for an estimate of a Selection's cost.
func (s *State) Candidates(p *selectors.Predicate, from string) iter.Seq[Run] {
	t, in, _ := s.narrow(p, from)
	return t.runs(in)
}

// Runs yields the selected objects in the longest possible runs. For one namespace or one value of an index these are
// parts of segments. Each iteration starts from the beginning and resets the counts.
func (s *Selection) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		s.Looked, s.Selected, s.more = 0, 0, false
		defer s.report()
		for run := range s.candidates {
			if !s.pick(run, yield) {
				return
			}
		}
	}
}

// Candidates yields the objects that may be selected. The caller passes each to Selects, which counts them.
func (s *Selection) Candidates() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		defer s.report()
		s.candidates(yield)
	}
}

// report sends the indexer the number of comparisons that an index saved, or would have saved.
func (s *Selection) report() {
	switch x := s.state.epoch.indexer; {
	case s.predicate.Everything():
	case s.by != nil:
		x.used(s.state, s.by, s.state.Count(spanOf(s.predicate, s.from))-s.Looked)
	case !s.indexed:
		x.missed(s.state, s.predicate, s.Looked-s.Selected)
	}
}

// Selects reports whether the candidate p.Item(at) is selected, and counts it.
func (s *Selection) Selects(p *Page, at int) bool {
	s.Looked++
	selects := s.predicate.Matches(&p.objects[at].Attributes)
	if selects {
		s.Selected++
	}
	return selects
}

// pick yields the selected parts of a run of candidates. It returns false to end the iteration.
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

// leading returns the selected objects at the beginning of a run, possibly none, and the index where to continue.
func (s *Selection) leading(run Run) (selected Run, next int) {
	most := run.To
	if s.limit > 0 {
		most = run.From + min(most-run.From, s.limit-s.Selected) // no overflow for any limit of a client
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
	if next = to; to < most { // the object after the selected ones was compared, too
		s.Looked++
		next++
	}
	return Run{Page: run.Page, From: run.From, To: to}, next
}
