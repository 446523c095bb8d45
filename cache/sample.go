package cache

import (
	"math/rand/v2"

	"github.com/listfacade/listfacade/selectors"
)

// sample contains some objects of an epoch, used to estimate how rare a value is. One half changed recently, because
// feeds are compared with events; the other half is random.
type sample struct {
	seq     int64 // position in history when the sample was taken
	objects []*Object
}

const (
	sampleSize = 64  // maximum number of objects
	sampleLife = 512 // number of events after which another sample is taken
)

// mostRequirements is the maximum number of a predicate's requirements that are compared with the sample.
const mostRequirements = 16

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

// some returns objects from all parts of the tree, at most as many as the argument most.
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

// anchor chooses the anchor of p's feed: its rarest requirement. If more than half of the sample fulfils this
// requirement, the feed gets no anchor. Each event is then compared with this feed, which costs little more, and feeds
// with an anchor do not wait for it.
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

// rarestValue returns the property whose single required value is the rarest in the sample. It ignores namespaces.
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

// count returns about how many objects of the sample fulfil a requirement. It may stop counting at upTo.
func (s *sample) count(r *selectors.Requirement, upTo int) int {
	if r.Shards != nil && r.Shards.Key() == selectors.ByUID {
		at := shardAnchor(r.Shards) // the share of all hashes is more exact than a count in the sample
		return int(at.share() * float64(len(s.objects)))
	}
	n := 0
	for i := 0; i < len(s.objects) && n < upTo; i++ {
		if r.Fulfilled(&s.objects[i].Attributes) {
			n++
		}
	}
	return n
}

func anchorAt(r *selectors.Requirement) anchor {
	if r.Shards != nil {
		return shardAnchor(r.Shards)
	}
	if r.Any {
		return anchor{by: byPresence, property: r.Property}
	}
	return anchor{by: byValue, property: r.Property, values: r.Values}
}
