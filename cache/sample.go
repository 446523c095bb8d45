package cache

import (
	"math/rand/v2"

	"github.com/listfacade/listfacade/selectors"
)

// sample are some objects of an epoch, by which it is guessed how rare a value is: half of them are those that changed
// last, for events are what a feed is asked about, half are any. Whoever opens a watch guesses by the same sample,
// until many events have come.
type sample struct {
	seq     int64 // the position in history at which it was taken
	objects []*Object
}

const (
	sampleSize = 64  // at the most; a value that none of them has is asked for by one event in 64, about
	sampleLife = 512 // events
)

// mostRequirements is how many of a predicate's requirements are compared.
const mostRequirements = 16

// sample returns a sample of the epoch that is not too old.
func (e *epoch) sample() *sample {
	now := e.newest.Load()
	last := e.sampled.Load()
	if last != nil && now.seq-last.seq < sampleLife && (len(last.objects) > 0 || now.seq == last.seq) {
		return last
	}
	s := &sample{seq: now.seq}
	s.add(now.objects.some(sampleSize / 2)...)
	for seq := max(e.history.held.Load().first, now.seq-sampleSize/2); seq < now.seq; seq++ {
		if event := e.history.at(seq); event != nil {
			s.add(event.object())
		}
	}
	e.sampled.Store(s)
	return s
}

func (s *sample) add(objects ...*Object) { s.objects = append(s.objects, objects...) }

// some returns some objects of the tree, from all over it.
func (t *tree) some(most int) []*Object {
	if t.count <= most {
		most = t.count
	}
	var objects []*Object
	for i := range most {
		pages := t.chunks[i*len(t.chunks)/most].pages
		page := pages[rand.IntN(len(pages))]
		objects = append(objects, page.objects[rand.IntN(page.Len())])
	}
	return objects
}

// anchor chooses by what p's feed is found: by its rarest requirement, unless half of all events have even that. Then
// asking it each time costs little more, and is done where nobody who is found by a value has to wait for it.
func (s *sample) anchor(p *selectors.Predicate) anchor {
	if p.Name() != "" && p.Namespace() != "" {
		return anchor{by: byKey, values: []string{p.Namespace() + "/" + p.Name()}}
	}
	best, least, looked := anchor{}, len(s.objects)/2+1, 0
	for r := range p.Requirements() {
		if len(r.Values) > mostValues {
			r.Any, r.Values = true, nil
		}
		if n := s.count(&r, least); n < least {
			best, least = anchorAt(&r), n
		}
		if looked++; looked == mostRequirements || least == 0 {
			break
		}
	}
	return best
}

// rarestValue returns the property of which p requires the rarest single value, of those by which objects can be
// indexed.
func (s *sample) rarestValue(p *selectors.Predicate) (property selectors.Property, ok bool) {
	least, looked := len(s.objects)+1, 0
	for r := range p.Requirements() {
		if len(r.Values) == 1 && r.Property != selectors.NamespaceProperty() {
			if n := s.count(&r, least); n < least {
				property, ok, least = r.Property, true, n
			}
		}
		if looked++; looked == mostRequirements {
			break
		}
	}
	return property, ok
}

// count returns how many objects of the sample fulfil a requirement; it counts no further than up to.
func (s *sample) count(r *selectors.Requirement, upTo int) int {
	n := 0
	for i := 0; i < len(s.objects) && n < upTo; i++ {
		if r.Fulfilled(&s.objects[i].Attributes) {
			n++
		}
	}
	return n
}

func anchorAt(r *selectors.Requirement) anchor {
	if r.Any {
		return anchor{by: byPresence, property: r.Property}
	}
	return anchor{by: byValue, property: r.Property, values: r.Values}
}
