package limit

import "sync"

// ConcurrencyBounds are the maximum numbers of concurrent requests; 0 is unlimited.
type ConcurrencyBounds struct {
	Each, All int // per key, and over all keys
}

// ConcurrencyLimit bounds how many requests are open at the same time, per key and over all keys. It never queues. Safe
// for concurrent use.
type ConcurrencyLimit struct {
	bounds ConcurrencyBounds

	mu     sync.Mutex // guards counts and all; held for map operations only
	counts map[string]int
	all    int
}

// NewConcurrencyLimit returns a limit with no request open.
func NewConcurrencyLimit(bounds ConcurrencyBounds) *ConcurrencyLimit {
	return &ConcurrencyLimit{bounds: bounds, counts: map[string]int{}}
}

// Join counts one more request of the key, or returns ErrBusy immediately. The caller must call leave exactly once,
// when the request ends.
func (c *ConcurrencyLimit) Join(key string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reached(c.all, c.bounds.All) || reached(c.counts[key], c.bounds.Each) {
		return nil, ErrBusy
	}
	c.all++
	c.counts[key]++
	return func() { c.leave(key) }, nil
}

func reached(n, bound int) bool { return bound > 0 && n >= bound }

func (c *ConcurrencyLimit) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.counts[key]--; c.counts[key] == 0 {
		delete(c.counts, key)
	}
}
