package limit

import "iter"

// census stores a count for each key. It finds a key with the highest count in constant time, because counts are small
// and change by one. The zero value is empty. Not safe for concurrent use.
type census[K comparable] struct {
	all     int              // sum of all counts
	counts  map[K]int        // counts above 0
	byCount []map[K]struct{} // keys by count; the last set is not empty
}

func (c *census[K]) note(key K, n int) {
	before := c.counts[key]
	if n == before {
		return
	}
	if c.counts == nil {
		c.counts = map[K]int{}
	}
	c.all += n - before
	if before > 0 {
		delete(c.byCount[before], key)
	}
	if c.counts[key] = n; n == 0 {
		delete(c.counts, key)
	} else {
		for len(c.byCount) <= n {
			c.byCount = append(c.byCount, map[K]struct{}{})
		}
		c.byCount[n][key] = struct{}{}
	}
	for len(c.byCount) > 0 && len(c.byCount[len(c.byCount)-1]) == 0 {
		c.byCount = c.byCount[:len(c.byCount)-1]
	}
}

// most returns a key with the highest count, preferably the given one. At least one count must be above 0.
func (c *census[K]) most(preferred K) K {
	if c.counts[preferred] == len(c.byCount)-1 {
		return preferred
	}
	for key := range c.byCount[len(c.byCount)-1] {
		return key
	}
	panic("BUG: limit: census is empty")
}

// descending returns the keys from the highest count to the lowest. Of keys with equal counts, the preferred key comes
// first. The body of the loop may lower the count of the current key by one. The key then comes again with the lower
// count.
func (c *census[K]) descending(preferred K) iter.Seq[K] {
	return func(yield func(K) bool) {
		for n := len(c.byCount) - 1; n > 0; n-- {
			if n >= len(c.byCount) {
				continue // no key has this count any more
			}
			keys := c.byCount[n]
			if _, ok := keys[preferred]; ok && !yield(preferred) {
				return
			}
			for key := range keys {
				if key != preferred && !yield(key) {
					return
				}
			}
		}
	}
}
