package accounting

import "hash/maphash"

const (
	// mostTexts is how many user agents, selectors and unknown resources of one user are told apart in a minute.
	mostTexts = 64
	// guardUsers is how many users are counted apart. Users that share a number share their texts.
	guardUsers = 1 << 14
	// guardBits are for the texts that were seen: once there are fifty thousand, one new one of a hundred passes for an
	// old one, and is told apart.
	guardBits = 1 << 20
)

// guard keeps what clients make up from filling the summaries: who sends a new user agent with each request would put
// everybody else out, and be found nowhere. Its size is fixed. Not safe for concurrent use.
type guard struct {
	seed  maphash.Seed
	users [guardUsers]uint8
	seen  [guardBits / 64]uint64 // a Bloom filter with two bits a text
}

// admit returns the key itself, or, where its user has sent too many texts in this minute, the one of all of those.
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

// freeText is what of a key the client may make up.
func (k *Key) freeText(discovered bool) Key {
	text := Key{User: k.User, UserAgent: k.UserAgent, Selector: k.Selector}
	if !discovered {
		text.Group, text.Version, text.Resource, text.Subresource = k.Group, k.Version, k.Resource, k.Subresource
	}
	return text
}

// collapsed is the key of everything else that a user sends.
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

// forget begins a minute.
func (g *guard) forget() {
	clear(g.users[:])
	clear(g.seen[:])
}
