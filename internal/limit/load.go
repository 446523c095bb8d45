package limit

// Load is the current use of a limit.
type Load struct {
	Taken, All int64 // units in use, and their limit; an All of 0 is unlimited
	Waiting    int   // requests in the queue
}

// Load returns the seats in use and the requests that wait.
func (p *Seats) Load() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Load{Taken: p.bounds.All - p.free, All: p.bounds.All, Waiting: p.waiting.all}
}

// Load returns the number of open requests. Waiting is always 0.
func (c *ConcurrencyLimit) Load() Load {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Load{Taken: int64(c.all), All: int64(c.bounds.All)}
}
