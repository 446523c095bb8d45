package limit

// census knows of whom most are there. Its zero value is empty. Numbers change by one at a time, so the most are found
// without looking at everybody. Used by one goroutine at a time.
type census[K comparable] struct {
	all    int              // of everybody
	counts map[K]int        // above 0
	of     []map[K]struct{} // who has so many; the last is not empty
}

// note says how many of somebody are there, which may be as many as before.
func (c *census[K]) note(who K, n int) {
	before := c.counts[who]
	if n == before {
		return
	}
	if c.counts == nil {
		c.counts = map[K]int{}
	}
	c.all += n - before
	if before > 0 {
		delete(c.of[before], who)
	}
	if c.counts[who] = n; n == 0 {
		delete(c.counts, who)
	} else {
		for len(c.of) <= n {
			c.of = append(c.of, map[K]struct{}{})
		}
		c.of[n][who] = struct{}{}
	}
	for len(c.of) > 0 && len(c.of[len(c.of)-1]) == 0 {
		c.of = c.of[:len(c.of)-1]
	}
}

// most is one of those of whom most are there, and somebody if that is one of them. Somebody is there.
func (c *census[K]) most(rather K) K {
	if c.counts[rather] == len(c.of)-1 {
		return rather
	}
	for who := range c.of[len(c.of)-1] {
		return who
	}
	panic("limit: the most of nobody")
}
