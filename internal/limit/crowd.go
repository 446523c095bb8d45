package limit

import "sync"

// CrowdBounds are how many may wait at a time, both above 0.
type CrowdBounds struct {
	Each, All int // of one key, and over all keys
}

// Crowd counts who waits for something that comes to all of them at once, by key. Safe for concurrent use.
type Crowd struct {
	bounds CrowdBounds

	mu      sync.Mutex // guards what follows; held for map operations only
	waiting map[string]int
	all     int
}

// NewCrowd returns a crowd of nobody.
func NewCrowd(bounds CrowdBounds) *Crowd { return &Crowd{bounds: bounds, waiting: map[string]int{}} }

// Join lets one more wait for a key, or fails with ErrBusy at once. leave ends the wait; it is called once.
func (c *Crowd) Join(key string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.bounds.All || c.waiting[key] >= c.bounds.Each {
		return nil, ErrBusy
	}
	c.all++
	c.waiting[key]++
	return func() { c.part(key) }, nil
}

// part forgets a key with the last who waits for it.
func (c *Crowd) part(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.waiting[key]--; c.waiting[key] == 0 {
		delete(c.waiting, key)
	}
}
