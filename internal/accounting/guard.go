package accounting

import "hash/maphash"

const (
	// mostTexts is the maximum number of texts of one user per minute. A text is a combination of user agent, selectors
	// and unknown resource.
	mostTexts = 64
	// guardUsers is the number of counters for users. Users with the same hash share a counter.
	guardUsers = 1 << 14
	// guardBits is the number of bits of the Bloom filter. With 50,000 texts, one in a hundred new texts appears to be
	// known, and becomes a separate key.
	guardBits = 1 << 20
)

// guard limits the number of keys that one user can create. Otherwise a client with a new user agent in each request
// would evict the other keys from the summaries, and would not be listed itself. The guard uses a fixed amount of
// memory. Not safe for concurrent use.
type guard struct {
	seed  maphash.Seed
	users [guardUsers]uint8
	seen  [guardBits / 64]uint64 // a Bloom filter with two bits for each text
}

// admit returns the key, or the collapsed key if the user has sent too many texts in this minute.
func (g *guard) admit(k Key, discovered bool) Key {
	text := k.freeText(discovered)
	h := text.digest(g.seed)
	if g.has(h) {
		return k
	}
	user := &g.users[maphash.String(g.seed, k.User)%guardUsers]
	if *user >= mostTexts {
		return k.collapsed(discovered)
	}
	*user++
	g.see(h)
	return k
}

// freeText returns the user of a key, and the parts that a client can choose freely. Together they are one text.
func (k *Key) freeText(discovered bool) Key {
	text := Key{User: k.User, UserAgent: k.UserAgent, Selector: k.Selector}
	if !discovered {
		text.Group, text.Version, text.Resource, text.Subresource = k.Group, k.Version, k.Resource, k.Subresource
	}
	return text
}

// collapsed returns the key without its free text, which is replaced by Others.
func (k *Key) collapsed(discovered bool) Key {
	c := *k
	c.UserAgent = Others
	if c.Selector != "" {
		c.Selector = Others
	}
	if !discovered && c.Scope != "" {
		c.Group, c.Version, c.Resource, c.Subresource = "", "", Others, ""
	}
	return c
}

func (g *guard) has(h uint64) bool {
	a, b := bitsOf(h)
	return g.seen[a/64]&(1<<(a%64)) != 0 && g.seen[b/64]&(1<<(b%64)) != 0
}

func (g *guard) see(h uint64) {
	a, b := bitsOf(h)
	g.seen[a/64] |= 1 << (a % 64)
	g.seen[b/64] |= 1 << (b % 64)
}

func bitsOf(h uint64) (a, b uint64) { return h % guardBits, (h >> 32) % guardBits }

func (g *guard) forget() {
	clear(g.users[:])
	clear(g.seen[:])
}
