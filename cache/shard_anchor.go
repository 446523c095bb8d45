package cache

import (
	"math"

	"github.com/listfacade/listfacade/selectors"
)

// A feed of shards is anchored at prefixes of the hashes that it selects, called beginnings. A range of hashes consists
// of few sets with a common prefix, as a range of IP addresses consists of subnets. For an event, ofShards looks up
// each prefix of the object's hash. The cost therefore does not depend on the number of shards.

// shardBits is the maximum length of a beginning, in bits. The ends of a range are therefore rounded to multiples of
// 2^52. About one event in 4096 is then also compared with the feed of the neighbouring shard.
const shardBits = 12

// beginning is a prefix of a hash: the number of its bits, then the bits.
type beginning [3]byte

func beginningOf(hash uint64, bits int) beginning {
	first := uint16(hash >> (64 - shardBits) >> (shardBits - bits))
	return beginning{byte(bits), byte(first >> 8), byte(first)}
}

// beginnings returns the beginnings of all hashes of shards. It rounds the ranges further while there are more than
// mostValues beginnings. Beginnings of two ranges may overlap or be equal.
func beginnings(shards *selectors.Shards) (texts []string) {
	for bits := shardBits; ; bits -= shardBits / 3 {
		texts = texts[:0]
		for _, r := range shards.Ranges() {
			texts = appendBeginnings(texts, r, bits)
		}
		if len(texts) <= mostValues || bits == 0 {
			return texts
		}
	}
}

// appendBeginnings appends the beginnings of one range, each of at most the given number of bits.
func appendBeginnings(texts []string, r selectors.HashRange, bits int) []string {
	add := func(block uint64, bits int) {
		text := beginningOf(block<<(64-bits), bits)
		texts = append(texts, string(text[:]))
	}
	first, last := r.First>>(64-bits), r.Last>>(64-bits)
	for ; first <= last; bits-- {
		if first == last || bits == 0 {
			add(first, bits)
			break
		}
		if first&1 == 1 {
			add(first, bits)
			first++
		}
		if last&1 == 0 {
			add(last, bits)
			last--
		}
		first, last = first>>1, last>>1
	}
	return texts
}

func shardAnchor(shards *selectors.Shards) anchor {
	return anchor{by: byShard, shards: shards.Key(), values: beginnings(shards)}
}

// share returns the share of all hashes that have a beginning of the anchor. Hashes of UIDs are distributed evenly.
func (at *anchor) share() (share float64) {
	for _, text := range at.values {
		share += math.Ldexp(1, -int(text[0]))
	}
	return min(share, 1)
}

// ofShards appends the postings of the feeds whose shards may contain an object.
func (a *anchors) ofShards(o *Object, to []*posting) []*posting {
	for key := range a.shards {
		if len(a.shards[key]) == 0 {
			continue
		}
		hash := selectors.ShardKey(key).Hash(&o.Attributes)
		for bits := range shardBits + 1 {
			text := beginningOf(hash, bits)
			to = more(to, a.shards[key][string(text[:])])
		}
	}
	return to
}
