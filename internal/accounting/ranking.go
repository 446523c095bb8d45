package accounting

import (
	"cmp"
	"slices"
	"time"
)

// Ranking is who took most of one kind of cost.
type Ranking struct {
	By   string `json:"by"`
	Unit string `json:"unit"` // bytes, nanoseconds, objects, requests or events
	// From and To are the time that is counted: whole minutes, and the one that is under way.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Total is what all clients took, exactly.
	Total int64 `json:"total"`
	// Clients are the most expensive, by what they took at least.
	Clients []Client `json:"clients"`
	// Keys is how many are known, of which Clients may be a part.
	Keys int `json:"keys"`
	// Unlisted is the most that one took who is not known.
	Unlisted int64 `json:"unlisted"`
}

// Client is what one key took: Estimate at most, and Estimate less Error at least.
type Client struct {
	Key
	Estimate int64 `json:"estimate"`
	Error    int64 `json:"error"`
}

// least is what it took for sure.
func (c *Client) least() int64 { return c.Estimate - c.Error }

var units = [kinds]string{"bytes", "nanoseconds", "objects", "requests", "events"}

// Top returns the clients that took most in a window, up to MaxWindow, which is taken in whole minutes, rounded up; at
// most so many of them.
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

// compare puts keys in an order, whatever it is.
func (k *Key) compare(other *Key) int {
	return cmp.Or(
		cmp.Compare(k.User, other.User), cmp.Compare(k.UserAgent, other.UserAgent), cmp.Compare(k.Verb, other.Verb),
		cmp.Compare(k.Resource, other.Resource), cmp.Compare(k.Scope, other.Scope), cmp.Compare(k.Selector, other.Selector),
	)
}

// summaries are copies of a kind's summaries from a minute on.
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

// merged is several summaries in one.
type merged struct {
	clients         map[uint64]*mergedClient
	total, unlisted int64
}

type mergedClient struct {
	key           *Key
	estimate, err int64
}

// mergedOf keeps the promise of each summary. Who has no place in one of them took no more there than the smallest that
// has: so much is added to its estimate, and to its error.
func mergedOf(all []summary) merged {
	m := merged{clients: map[uint64]*mergedClient{}}
	for _, s := range all {
		m.total += s.total
		m.unlisted += s.unlisted()
	}
	for _, s := range all {
		unlisted := s.unlisted()
		for i, place := range s.rest {
			client := m.clients[place.digest]
			if client == nil {
				client = &mergedClient{key: place.key, estimate: m.unlisted, err: m.unlisted}
				m.clients[place.digest] = client
			}
			client.estimate += s.counts[i] - unlisted
			client.err += place.err - unlisted
		}
	}
	return m
}
