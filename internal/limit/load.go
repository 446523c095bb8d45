package limit

// Load is how much of what there is is taken at the moment.
type Load struct {
	Taken, All int64 // All is 0 for any number
	Waiting    int   // for a place
}

// Load is how the places are taken.
func (p *Seats) Load() Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Load{Taken: p.bounds.All - p.free, All: p.bounds.All, Waiting: p.waiting.all}
}

// Load is how many are there. Nobody waits.
func (c *ConcurrencyLimit) Load() Load {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Load{Taken: int64(c.all), All: int64(c.bounds.All)}
}
