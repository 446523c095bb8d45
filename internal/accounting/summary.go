package accounting

// mostKeys is the number of slots of a summary. Every key with more than 1/256 of the total cost has a slot.
const mostKeys = 256

// summary contains the most expensive keys of one minute by one kind of cost, by weighted Space-Saving. Not safe for
// concurrent use.
//
// If all slots are taken, a new key replaces the key with the smallest count. The new key starts with that count, which
// is also its error: the most that the key may have cost before. Therefore count - error <= true cost <= count. The
// true cost of a replaced key is at most the smallest count.
type summary struct {
	at     map[uint64]int // index in counts and rest, by the key's digest
	counts []int64
	rest   []slot // of the same length as counts
	total  int64  // exact cost of all keys
}

// slot is the key of a count. It is separate because counts are used far more often.
type slot struct {
	digest uint64
	key    *Key
	err    int64
}

// hit adds weight to the count of a key, and reports whether the key has a slot.
func (s *summary) hit(digest uint64, weight int64) bool {
	i, ok := s.at[digest]
	if ok {
		s.counts[i] += weight
		s.total += weight
	}
	return ok
}

// admit gives a slot to a key that has none, and adds weight to its count.
func (s *summary) admit(digest uint64, key *Key, weight int64) {
	s.total += weight
	if s.at == nil {
		s.at = make(map[uint64]int)
	}
	if len(s.counts) < mostKeys {
		s.at[digest] = len(s.counts)
		s.counts = append(s.counts, weight)
		s.rest = append(s.rest, slot{digest: digest, key: key})
		return
	}
	i := s.smallest()
	delete(s.at, s.rest[i].digest)
	s.at[digest] = i
	s.rest[i] = slot{digest: digest, key: key, err: s.counts[i]}
	s.counts[i] += weight
}

// smallest returns the index of the smallest count. It scans all counts in 0.1 µs, only for new keys and for readers.
// Sorted counts would cost time for each request.
func (s *summary) smallest() int {
	least := 0
	for i, count := range s.counts {
		if count < s.counts[least] {
			least = i
		}
	}
	return least
}

// unlisted returns the maximum cost of a key without a slot.
func (s *summary) unlisted() int64 {
	if len(s.counts) < mostKeys {
		return 0
	}
	return s.counts[s.smallest()]
}

func (s *summary) find(digest uint64) *Key {
	if i, ok := s.at[digest]; ok {
		return s.rest[i].key
	}
	return nil
}

func (s *summary) clear() {
	clear(s.at)
	clear(s.rest)
	s.counts, s.rest, s.total = s.counts[:0], s.rest[:0], 0
}

// copied returns a copy for readers, without the field at.
func (s *summary) copied() summary {
	return summary{counts: append([]int64(nil), s.counts...), rest: append([]slot(nil), s.rest...), total: s.total}
}
