package cache

import (
	"slices"

	"github.com/listfacade/listfacade/selectors"
)

// anchor is what a feed is found by: the rarest of what its predicate requires of an object (sample.anchor). An event
// concerns only feeds anchored at what its object has or had; so most feeds are never asked. Like an index it proposes,
// and the predicate decides (I9).
type anchor struct {
	by       anchorKind
	property selectors.Property // of byValue and byPresence
	values   []string           // of byKey the key; of byValue each that will do: none when nothing matches
}

type anchorKind int

const (
	byNothing  anchorKind = iota // nothing that is rare is required: the feed is asked about every event
	byKey                        // one object
	byValue                      // one of some values of a property
	byPresence                   // a label, with whatever value
)

// mostValues is up to how many values a feed is filed under. One that takes more is found by the presence of the label.
const mostValues = 32

// anchors are the feeds of an epoch by their anchors.
type anchors struct {
	without posting // the feeds without an anchor
	keys    map[string]*posting
	labels  map[string]*anchored // by the label's key
	fields  []*anchored          // of other properties; few
}

// anchored are the feeds that are anchored at one property.
type anchored struct {
	property selectors.Property
	values   map[string]*posting
	present  posting
}

// posting is a list of feeds, to which a feed belongs by a filing of its own. Feeds come and go while one walks it.
type posting struct {
	first *filing
}

// filing is the place of a feed in a posting.
type filing struct {
	feed       *feed
	prev, next *filing
}

func (p *posting) add(f *filing) {
	f.next = p.first
	if f.next != nil {
		f.next.prev = f
	}
	p.first = f
}

func (p *posting) remove(f *filing) {
	if f.prev == nil {
		p.first = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	}
	f.prev, f.next = nil, nil
}

func newAnchors() anchors {
	return anchors{keys: map[string]*posting{}, labels: map[string]*anchored{}}
}

// file makes a feed one that is found by its anchor.
func (a *anchors) file(d *feed) {
	d.filings = make([]filing, d.anchor.postings())
	for i := range d.filings {
		d.filings[i].feed = d
	}
	a.visit(d, (*posting).add)
}

// unfile takes back what file has done.
func (a *anchors) unfile(d *feed) {
	a.visit(d, (*posting).remove)
}

// postings is under how many of them a feed with the anchor is filed.
func (at *anchor) postings() int {
	if at.by == byValue {
		return len(at.values)
	}
	return 1
}

// visit does something to each of a feed's filings and the posting that it belongs to. A posting is made when it is
// missing, and dropped when it is left empty.
func (a *anchors) visit(d *feed, do func(*posting, *filing)) {
	switch at := &d.anchor; at.by {
	case byNothing:
		do(&a.without, &d.filings[0])
	case byKey:
		visitIn(a.keys, at.values[0], &d.filings[0], do)
	case byPresence:
		of := a.at(at.property)
		do(&of.present, &d.filings[0])
		a.dropEmpty(of)
	case byValue:
		of := a.at(at.property)
		for i, value := range at.values {
			visitIn(of.values, value, &d.filings[i], do)
		}
		a.dropEmpty(of)
	}
}

func visitIn(postings map[string]*posting, value string, f *filing, do func(*posting, *filing)) {
	p := postings[value]
	if p == nil {
		p = new(posting)
		postings[value] = p
	}
	do(p, f)
	if p.first == nil {
		delete(postings, value)
	}
}

// at returns what is anchored at a property, which may be nothing yet.
func (a *anchors) at(property selectors.Property) *anchored {
	key, isLabel := property.Label()
	if of := a.labels[key]; isLabel && of != nil {
		return of
	}
	for _, of := range a.fields {
		if of.property == property {
			return of
		}
	}
	of := &anchored{property: property, values: map[string]*posting{}}
	if isLabel {
		a.labels[key] = of
	} else {
		a.fields = append(a.fields, of)
	}
	return of
}

func (a *anchors) dropEmpty(of *anchored) {
	if len(of.values) > 0 || of.present.first != nil {
		return
	}
	if key, isLabel := of.property.Label(); isLabel {
		delete(a.labels, key)
		return
	}
	for i := range a.fields {
		if a.fields[i] == of {
			a.fields = append(a.fields[:i], a.fields[i+1:]...)
			return
		}
	}
}

// of appends the postings of all feeds with an anchor that may select an object, but for those that are there. It looks
// up what the object has, so that it costs as much as there are labels and postings, however many feeds there are.
func (a *anchors) of(o *Object, to []*posting) []*posting {
	to = more(to, a.keys[o.Key()])
	for _, of := range a.fields {
		value, _ := of.property.Of(&o.Attributes)
		to = of.with(value, to)
	}
	if len(a.labels) == 0 {
		return to
	}
	for key, value := range o.Labels().All() {
		if of := a.labels[key]; of != nil {
			to = of.with(value, to)
		}
	}
	return to
}

// with appends the postings of feeds that a value of the property will do for.
func (of *anchored) with(value string, to []*posting) []*posting {
	if of.present.first != nil {
		to = more(to, &of.present)
	}
	return more(to, of.values[value])
}

func more(postings []*posting, p *posting) []*posting {
	if p == nil || slices.Contains(postings, p) {
		return postings
	}
	return append(postings, p)
}
