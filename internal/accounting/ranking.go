package accounting

import (
	"cmp"
	"slices"
	"time"
)

// Ranking lists the most expensive clients by one kind of cost.
type Ranking struct {
	By   string `json:"by"`
	Unit string `json:"unit"` // bytes, nanoseconds, objects, requests or events
	// From and To limit the period, which consists of full minutes and the current minute.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Total is the exact cost of all clients.
	Total int64 `json:"total"`
	// Clients are the most expensive keys, sorted by the lower bound of their cost.
	Clients []Client `json:"clients"`
	// Keys is the number of keys in the summaries. Clients may contain only a part of these keys.
	Keys int `json:"keys"`
	// Unlisted is the maximum cost of a key that is not in the summaries.
	Unlisted int64 `json:"unlisted"`
}

// Client is the cost of one key. The true cost is between Estimate - Error and Estimate.
type Client struct {
	Key
	Estimate int64 `json:"estimate"`
	Error    int64 `json:"error"`
}

func (c *Client) least() int64 { return c.Estimate - c.Error }

var units = [kinds]string{"bytes", "nanoseconds", "objects", "requests", "events"}

// Top returns the clients with the highest cost in a window. The argument most is their maximum number. The window is
// rounded up to full minutes, and is at most MaxWindow.
func (c *Clients) Top(by By, window time.Duration, most int) Ranking {
	c.collect()
	now := time.Now()
	r := Ranking{By: by.String(), Unit: units[by], To: now}
	first := now.Unix()/60 - int64((min(window, MaxWindow)+time.Minute-1)/time.Minute)
	if r.From = time.Unix(first*60, 0); r.From.Before(c.began) {
		r.From = c.began
	}
	merged := mergedOf(c.summaries(by, first))
	r.Total, r.Unlisted, r.Keys = merged.total, merged.unlisted, len(merged.clients)
	all := make([]Client, 0, len(merged.clients))
	for _, client := range merged.clients {
		all = append(all, Client{Key: *client.key, Estimate: client.estimate, Error: client.err})
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.least(), a.least()), cmp.Compare(b.Estimate, a.Estimate), a.compare(&b.Key))
	})
	r.Clients = all[:min(most, len(all))]
	return r
}

// compare orders keys that have the same cost. The order is arbitrary, but total. Otherwise a ranking would depend on
// the order of a map.
func (k *Key) compare(other *Key) int {
	return cmp.Or(
		cmp.Compare(k.User, other.User), cmp.Compare(k.UserAgent, other.UserAgent), cmp.Compare(k.Verb, other.Verb),
		cmp.Compare(k.Group, other.Group), cmp.Compare(k.Version, other.Version), cmp.Compare(k.Resource, other.Resource),
		cmp.Compare(k.Subresource, other.Subresource), cmp.Compare(k.Scope, other.Scope),
		cmp.Compare(k.Selector, other.Selector), cmp.Compare(k.Mode, other.Mode), cmp.Compare(k.Source, other.Source),
	)
}

// summaries returns copies of the summaries of one kind of cost, from the minute first on.
func (c *Clients) summaries(by By, first int64) []summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []summary
	for i := range c.ring {
		if m := &c.ring[i]; m.number >= first && m.number > 0 {
			all = append(all, m.by[by].copied())
		}
	}
	return all
}

type merged struct {
	clients         map[uint64]*mergedClient
	total, unlisted int64
}

type mergedClient struct {
	key           *Key
	estimate, err int64
}

// mergedOf adds up summaries. The sum has the same guarantee as a summary. If a key has no slot in one of the
// summaries, its cost there is at most the smallest count of that summary. This count is added to the estimate and to
// the error of the key.
func mergedOf(all []summary) merged {
	m := merged{clients: map[uint64]*mergedClient{}}
	for _, s := range all {
		m.total += s.total
		m.unlisted += s.unlisted()
	}
	for _, s := range all {
		unlisted := s.unlisted()
		for i, slot := range s.rest {
			client := m.clients[slot.digest]
			if client == nil {
				client = &mergedClient{key: slot.key, estimate: m.unlisted, err: m.unlisted}
				m.clients[slot.digest] = client
			}
			client.estimate += s.counts[i] - unlisted
			client.err += slot.err - unlisted
		}
	}
	return m
}
