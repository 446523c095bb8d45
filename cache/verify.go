package cache

import (
	"fmt"
	"os"

	"github.com/listfacade/listfacade/internal/wire"
)

// verifyEverything enables the check of lanes after writes (doc.go).
var verifyEverything = os.Getenv("LISTFACADE_VERIFY") == "1"

// verifiedPerEvent is the average number of objects and events that are checked for each event. A larger lane is not
// checked after every event, because 10,000 checks of 10,000 objects would take minutes.
const verifiedPerEvent = 200

func (l *Lane) verifyAfterEvent() {
	if !l.verifying {
		return
	}
	l.running.Wait() // feeds must be up to date
	l.unverified++
	s := l.state.Load()
	if s != nil && l.unverified*verifiedPerEvent < s.Len()+int(s.seq-s.epoch.history.held.Load().first) {
		return
	}
	l.verifyIfEnabled()
}

// verifyIfEnabled checks the complete lane. Rare writes call it directly: a list, a replayed lost window, an index.
func (l *Lane) verifyIfEnabled() {
	if !l.verifying {
		return
	}
	l.unverified = 0
	l.running.Wait() // feeds must be up to date
	if err := l.verify(); err != nil {
		panic("BUG: cache: " + err.Error())
	}
}

// verify checks the invariants of the lane's structures. The writers' lock must be held.
func (l *Lane) verify() error {
	s := l.state.Load()
	if s == nil {
		return nil
	}
	if err := s.verify(); err != nil {
		return fmt.Errorf("verify state at RV %d: %w", s.rv, err)
	}
	if saved := l.counters.saved.Load(); saved != s.saved() {
		return fmt.Errorf("recorded %d bytes saved by packing, want %d", saved, s.saved())
	}
	if err := s.epoch.history.verify(s); err != nil {
		return fmt.Errorf("verify history: %w", err)
	}
	if err := s.epoch.feeds.verify(s); err != nil {
		return fmt.Errorf("verify feeds: %w", err)
	}
	switch shown := l.shown.Load(); {
	case shown.epoch != s.epoch:
		return fmt.Errorf("readers see RV %d of another epoch, want RV %d of the current one", shown.rv, s.whole())
	case shown.partial:
		return fmt.Errorf("readers see a partial state at RV %d, want a complete one", shown.rv)
	case shown.rv < s.whole():
		return fmt.Errorf("readers see RV %d, want at least %d", shown.rv, s.whole())
	}
	return nil
}

func (s *State) verify() error {
	if err := s.objects.verify(); err != nil {
		return err
	}
	var size int64
	for o := range s.Objects(Span{}) {
		size += int64(o.Size())
	}
	if size != s.size {
		return fmt.Errorf("recorded a size of %d bytes, want %d", s.size, size)
	}
	for i := range s.indexes {
		if err := s.indexes[i].tree.verify(); err != nil {
			return fmt.Errorf("index %d: %w", i, err)
		}
		if err := s.indexes[i].sameAs(s); err != nil {
			return fmt.Errorf("index %d: %w", i, err)
		}
	}
	return nil
}

func (t *tree) verify() error {
	count, last := 0, (*Object)(nil)
	for ci, c := range t.chunks {
		if len(c.pages) == 0 || len(c.pages) > most {
			return fmt.Errorf("chunk %d has %d pages, want 1 to %d", ci, len(c.pages), most)
		}
		before := count
		for pi, p := range c.pages {
			if p.Len() == 0 || p.Len() > most {
				return fmt.Errorf("page %d of chunk %d has %d objects, want 1 to %d", pi, ci, p.Len(), most)
			}
			for _, o := range p.objects {
				if last != nil && t.compare(last, o) >= 0 {
					return fmt.Errorf("%q does not sort before %q", last.Key(), o.Key())
				}
				last = o
			}
			if end := t.positionOf(last); p.end != end {
				return fmt.Errorf("page %d of chunk %d recorded the end %q, want %q", pi, ci, p.end, end)
			}
			count += p.Len()
		}
		if end := t.positionOf(last); c.end != end {
			return fmt.Errorf("chunk %d recorded the end %q, want %q", ci, c.end, end)
		}
		if count-before != c.count {
			return fmt.Errorf("chunk %d recorded %d objects, want %d", ci, c.count, count-before)
		}
	}
	if count != t.count {
		return fmt.Errorf("tree recorded %d objects, want %d", t.count, count)
	}
	return nil
}

func (i *index) sameAs(s *State) error {
	count := 0
	for o := range s.Objects(Span{}) {
		if _, has := i.property.Of(&o.Attributes); !has {
			continue
		}
		count++
		at, found := i.tree.find(i.tree.positionOf(o))
		if !found || i.tree.object(at) != o {
			return fmt.Errorf("object %q is not in the index", o.Key())
		}
	}
	if count != i.tree.count {
		return fmt.Errorf("index has %d objects, want %d", i.tree.count, count)
	}
	return nil
}

func (h *history) verify(newest *State) error {
	w, end := h.held.Load(), h.end.Load()
	if end != newest.seq {
		return fmt.Errorf("history ends at position %d, want %d", end, newest.seq)
	}
	if err := w.verifyLostWindows(); err != nil {
		return err
	}
	last, rv, seq := w.base, w.base.rv, w.first
	for ; seq < w.base.seq; seq++ { // history was dropped up to a position inside a lost window
		if e := w.at(seq); e.lostAfter == 0 || e.state != w.base {
			return fmt.Errorf("history begins at position %d, want %d", w.first, w.base.seq)
		}
	}
	for ; seq < end; seq++ {
		e := w.at(seq)
		if e.lostAfter > 0 && e.state.seq > seq+1 { // the last event of a window is checked like any other
			if e.rv < rv || e.state.rv < e.rv || e.lostAfter > e.rv {
				return fmt.Errorf("event %d at RV %d is outside its lost window up to RV %d, or out of order after RV %d", seq,
					e.rv, e.state.rv, rv)
			}
			rv = e.rv
			continue
		}
		if e.rv < rv || e.state.rv != e.rv && e.lostAfter == 0 || e.state.rv < e.rv || e.state.seq != seq+1 {
			return fmt.Errorf("event %d at RV %d after RV %d is out of order, or leads to the wrong state: %d at RV %d",
				seq, e.rv, rv, e.state.seq, e.state.rv)
		}
		last, rv = e.state, e.state.rv
	}
	if last.rv > newest.rv || last.objects.count != newest.objects.count {
		return fmt.Errorf("last event leads to RV %d and %d objects, want RV %d and %d objects",
			last.rv, last.objects.count, newest.rv, newest.objects.count)
	}
	return nil
}

func (w *window) verifyLostWindows() error {
	last := RV(0)
	for _, lost := range w.lostWindows {
		if lost.after < last || lost.upTo <= lost.after || lost.upTo <= w.base.rv {
			return fmt.Errorf("lost windows are out of order or below the base: window from RV %d to %d, previous one up to %d, base at %d",
				lost.after, lost.upTo, last, w.base.rv)
		}
		last = lost.upTo
	}
	return nil
}

func verifyPacked(was, packed *wire.Item, enabled bool) {
	if enabled && !was.Equal(packed) {
		panic("BUG: cache: packing changed an object")
	}
}
