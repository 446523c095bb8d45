package cache

import (
	"slices"

	"github.com/listfacade/listfacade/selectors"
)

// anchor is the rarest requirement of a feed's predicate (sample.anchor). An event is compared with a feed only if its
// object matches the feed's anchor before or after the event. An anchor only proposes feeds; the predicate decides
// (I9).
type anchor struct {
	by       anchorKind
	property selectors.Property // for byValue and byPresence
	shards   selectors.ShardKey // for byShard: the field whose hash decides
	// values are the values that the feed accepts. For byKey, this is one object key. For byValue, these are values of the
	// property; without values, no object can match. For byShard, these are prefixes of hashes (type beginning).
	values []string
}

type anchorKind int

const (
	byNothing  anchorKind = iota // no rare requirement: the feed is compared with every event
	byKey                        // the feed selects one object key
	byValue                      // the feed requires one of a few values of a property
	byPresence                   // the feed requires a label with any value
	byShard                      // the feed requires some shards
)

// mostValues is the maximum number of values in an anchor. A feed that accepts more values of a label is anchored at
// the presence of the label.
const mostValues = 32

type anchors struct {
	without posting // feeds without an anchor
	keys    map[string]*posting
	labels  map[string]*anchored // feeds anchored at a label, by label key
	fields  []*anchored          // feeds anchored at a field or at the namespace; few such properties exist
	shards  [selectors.ShardKeys]map[string]*posting
}

type anchored struct {
	property selectors.Property
	values   map[string]*posting
	present  posting
}

// posting is a list of the feeds with the same anchor value.
type posting struct {
	first *filing
}

// filing is the entry of a feed in one posting.
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
	a := anchors{keys: map[string]*posting{}, labels: map[string]*anchored{}}
	for key := range a.shards {
		a.shards[key] = map[string]*posting{}
	}
	return a
}

func (a *anchors) file(d *feed) {
	d.filings = make([]filing, d.anchor.postings())
	for i := range d.filings {
		d.filings[i].feed = d
	}
	a.visit(d, (*posting).add)
}

func (a *anchors) unfile(d *feed) {
	a.visit(d, (*posting).remove)
}

func (at *anchor) postings() int {
	if at.by == byValue || at.by == byShard {
		return len(at.values)
	}
	return 1
}

// visit calls the function do for each filing of the feed. It creates missing postings and drops empty postings.
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
	case byShard:
		for i, text := range at.values {
			visitIn(a.shards[at.shards], text, &d.filings[i], do)
		}
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

// at returns the feeds anchored at a property. If there are none, it adds an empty entry.
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

// of appends the postings of the anchored feeds that may select the object, without duplicates. Its cost does not
// depend on the number of feeds.
func (a *anchors) of(o *Object, to []*posting) []*posting {
	to = more(to, a.keys[o.Key()])
	for _, of := range a.fields {
		value, _ := of.property.Of(&o.Attributes)
		to = of.with(value, to)
	}
	to = a.ofShards(o, to)
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
