package limit

import "sync"

// ConcurrencyBounds are how many may be there at a time; 0 is any number.
type ConcurrencyBounds struct {
	Each, All int // of one key, and over all keys
}

// ConcurrencyLimit counts who is there, by key: who waits for something that comes to all of them at once, or has
// something open. Safe for concurrent use.
type ConcurrencyLimit struct {
	bounds ConcurrencyBounds

	mu    sync.Mutex // guards what follows; held for map operations only
	there map[string]int
	all   int
}

// NewConcurrencyLimit returns a crowd of nobody.
func NewConcurrencyLimit(bounds ConcurrencyBounds) *ConcurrencyLimit {
	return &ConcurrencyLimit{bounds: bounds, there: map[string]int{}}
}

// Join lets one more in for a key, or fails with ErrBusy at once. leave lets it out; it is called once.
func (c *ConcurrencyLimit) Join(key string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reached(c.all, c.bounds.All) || reached(c.there[key], c.bounds.Each) {
		return nil, ErrBusy
	}
	c.all++
	c.there[key]++
	return func() { c.part(key) }, nil
}

func reached(n, bound int) bool { return bound > 0 && n >= bound }

// part forgets a key with the last who is there for it.
func (c *ConcurrencyLimit) part(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.there[key]--; c.there[key] == 0 {
		delete(c.there, key)
	}
}
