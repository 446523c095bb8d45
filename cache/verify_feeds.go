package cache

import "fmt"

func (f *feeds) verify(s *State) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range []*follower{&f.anchored, &f.unanchored} {
		if err := w.verify(s); err != nil {
			return err
		}
	}
	filed, err := f.anchors.filed()
	if err != nil {
		return err
	}
	count := map[*follower]int{}
	for text, d := range f.byPredicate {
		if d.predicate.String() != text || d.watchers <= 0 || d.follower != f.of(&d.anchor) || filed[d] != len(d.filings) {
			return fmt.Errorf("feed %q is inconsistent: %d watchers, filed %d times, want %d, at anchor %v",
				text, d.watchers, filed[d], len(d.filings), d.anchor)
		}
		delete(filed, d)
		count[d.follower]++
	}
	if len(filed) > 0 || count[&f.anchored] != f.anchored.feeds || count[&f.unanchored] != f.unanchored.feeds {
		return fmt.Errorf("%d closed feeds are still filed; open feeds with an anchor: %d, recorded %d; without: %d, recorded %d",
			len(filed), count[&f.anchored], f.anchored.feeds, count[&f.unanchored], f.unanchored.feeds)
	}
	return f.verifyAnchors(s)
}

func (w *follower) verify(s *State) error {
	complete := RV(w.complete.Load())
	if w.next != s.seq || w.offering() || complete != s.whole() {
		return fmt.Errorf("feeds received %d events and are complete up to RV %d, want %d events and RV %d", w.next, complete,
			s.seq, s.whole())
	}
	return nil
}

func (a *anchors) filed() (map[*feed]int, error) {
	counts := map[*feed]int{}
	count := func(p *posting) {
		for f := p.first; f != nil; f = f.next {
			counts[f.feed]++
		}
	}
	count(&a.without)
	for key, p := range a.keys {
		if p.first == nil {
			return nil, fmt.Errorf("key %q has no feed but is still in the index of feeds", key)
		}
		count(p)
	}
	for _, postings := range a.shards {
		for text, p := range postings {
			if p.first == nil {
				return nil, fmt.Errorf("hashes beginning with %x have no feed but are still in the index of feeds", text)
			}
			count(p)
		}
	}
	all := a.fields
	for _, of := range a.labels {
		all = append(all[:len(all):len(all)], of)
	}
	for _, of := range all {
		if len(of.values) == 0 && of.present.first == nil {
			return nil, fmt.Errorf("property %v has no feed but is still in the index of feeds", of.property)
		}
		count(&of.present)
		for value, p := range of.values {
			if p.first == nil {
				return nil, fmt.Errorf("value %q of property %v has no feed but is still in the index of feeds", value, of.property)
			}
			count(p)
		}
	}
	return counts, nil
}

// verifyAnchors checks, for some objects, that the anchors find every feed that selects the object (I9).
func (f *feeds) verifyAnchors(s *State) error {
	const some = 4
	for _, o := range s.objects.some(some) {
		found := map[*feed]bool{}
		for _, p := range append(f.anchors.of(o, nil), &f.anchors.without) {
			for at := p.first; at != nil; at = at.next {
				found[at.feed] = true
			}
		}
		for text, d := range f.byPredicate {
			if d.predicate.Matches(&o.Attributes) && !found[d] {
				return fmt.Errorf("feed %[2]q selects object %[1]q, but is not found by its anchor %[3]v", o.Key(), text, d.anchor)
			}
		}
	}
	return nil
}
