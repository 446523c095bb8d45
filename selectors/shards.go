package selectors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ShardKey is the field whose hash decides to which shard an object belongs.
type ShardKey int

// The values of ShardKey. Neither field of an object ever changes.
const (
	ByUID ShardKey = iota
	ByNamespace
	ShardKeys // number of values
)

var shardPaths = [ShardKeys]string{ByUID: "object.metadata.uid", ByNamespace: "object.metadata.namespace"}

// Hash returns the hash of the field in an object.
func (k ShardKey) Hash(a *Attributes) uint64 {
	if k == ByUID {
		return a.uidHash()
	}
	return hash(a.Namespace())
}

// hash returns the 64-bit FNV-1a hash, which KEP-5866 prescribes.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

const hashBytes = 8

func appendHash(dst []byte, uid string) []byte {
	return binary.LittleEndian.AppendUint64(dst, hash(uid))
}

// HashRange is the range of hashes from First to Last, both inclusive.
type HashRange struct{ First, Last uint64 }

// Shards selects the objects whose hash is in one of its ranges (KEP-5866). It is immutable and safe for concurrent
// use.
type Shards struct {
	key       ShardKey
	ranges    []HashRange // sorted; neither overlapping nor adjacent
	text      string
	canonical string
}

func newShards(calls []shardRange) *Shards {
	s := &Shards{key: ShardKey(slices.Index(shardPaths[:], calls[0].path))}
	texts := make([]string, len(calls))
	for i, call := range calls {
		s.ranges = append(s.ranges, call.hashes())
		texts[i] = fmt.Sprintf("shardRange(%s, '%s', '%s')", call.path, call.start, call.end)
	}
	s.text = strings.Join(texts, " || ")
	s.ranges = merged(s.ranges)
	s.canonical = fmt.Sprintf("shards of %s %x", calls[0].path, s.ranges)
	return s
}

func merged(ranges []HashRange) []HashRange {
	slices.SortFunc(ranges, func(a, b HashRange) int { return cmp.Compare(a.First, b.First) })
	all := ranges[:1]
	for _, r := range ranges[1:] {
		last := &all[len(all)-1]
		if last.Last != math.MaxUint64 && r.First > last.Last+1 {
			all = append(all, r)
			continue
		}
		last.Last = max(last.Last, r.Last)
	}
	return all
}

// String returns the selector in kube-apiserver's notation, which the shardInfo of a list contains. It keeps the order
// of the ranges.
func (s *Shards) String() string { return s.text }

// Key returns the field that is hashed.
func (s *Shards) Key() ShardKey { return s.key }

// Ranges returns the ranges of the selected hashes, sorted. The ranges neither overlap nor touch. The slice is shared
// and read-only.
func (s *Shards) Ranges() []HashRange { return s.ranges }

// Matches reports whether an object is in one of the shards. It does not allocate.
func (s *Shards) Matches(a *Attributes) bool {
	h := s.key.Hash(a)
	at, found := slices.BinarySearchFunc(s.ranges, h, func(r HashRange, h uint64) int { return cmp.Compare(r.First, h) })
	return found || at > 0 && h <= s.ranges[at-1].Last
}
