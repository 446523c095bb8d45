package observe

import (
	"cmp"
	"slices"
	"time"
)

// OpenList is a list of requests in flight, possibly truncated.
type OpenList struct {
	Total int    `json:"total"` // number of all requests; Items may contain only some of them
	Items []Open `json:"items"`
}

// The orders of requests and watches, each with the highest value first. The first element is the default.
var (
	RequestOrders = []string{"age", "bytes"}
	WatchOrders   = []string{"lag", "events", "bytes", "age"}
)

type candidate struct {
	of    *Progress
	first int64
	then  int64
}

// Requests returns requests in flight that are not watches, sorted by one of RequestOrders. The argument most is their
// maximum number.
func (i *Inflight) Requests(by string, most int) OpenList { return i.list(false, by, most) }

// Watches returns open watches, sorted by one of WatchOrders. The argument most is their maximum number.
func (i *Inflight) Watches(by string, most int) OpenList { return i.list(true, by, most) }

func (i *Inflight) list(watches bool, by string, most int) OpenList {
	var all []candidate
	for p := range i.All() {
		if p.isWatch() == watches {
			all = append(all, p.candidate(by))
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.then, a.then))
	})
	list := OpenList{Total: len(all), Items: make([]Open, 0, min(most, len(all)))}
	for _, c := range all[:min(most, len(all))] {
		list.Items = append(list.Items, c.of.open())
	}
	return list
}

func (p *Progress) candidate(by string) candidate {
	age := time.Since(p.event.Began)
	c := candidate{of: p, first: int64(age)}
	switch by {
	case "bytes":
		c.first, c.then = p.bytes.Load(), int64(age)
	case "events":
		c.first, c.then = p.events.Load(), p.bytes.Load()
	case "lag":
		settled := p.settled.Load()
		c.first, c.then = int64(p.lag(settled, age)), p.bytes.Load()
	}
	return c
}
