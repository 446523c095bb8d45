package accounting

// mostKeys is how many keys a summary tells apart. Whoever took more than 1/256 of what all took together is one of
// them.
const mostKeys = 256

// summary is one kind of cost in one minute: the keys that took most, by weighted Space-Saving. Not safe for
// concurrent use.
//
// A key that comes and finds no place takes the one of the key with the smallest count, and its count, which is then
// the most that the new key may have taken before: its error. So no count is less than the truth, none less its error
// is more, and none that was given up is more than the smallest that is there.
type summary struct {
	at     map[uint64]int // digest to place
	counts []int64
	rest   []slot // of the same length
	total  int64  // of all keys, exactly
}

// place is what belongs to a count and is seldom looked at.
type slot struct {
	digest uint64
	key    *Key
	err    int64
}

// hit counts for a key that has a place, and reports whether it has one.
func (s *summary) hit(digest uint64, weight int64) bool {
	i, ok := s.at[digest]
	if ok {
		s.counts[i] += weight
		s.total += weight
	}
	return ok
}

// admit counts for a key that has no place.
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

// smallest is the place with the smallest count. To look at all of them costs a tenth of a microsecond, where a key is
// new; to keep them in order would cost something at each request.
func (s *summary) smallest() int {
	least := 0
	for i, count := range s.counts {
		if count < s.counts[least] {
			least = i
		}
	}
	return least
}

// unlisted is the most that a key may have taken that has no place.
func (s *summary) unlisted() int64 {
	if len(s.counts) < mostKeys {
		return 0
	}
	return s.counts[s.smallest()]
}

// find returns the kept key of a digest; nil when it has no place.
func (s *summary) find(digest uint64) *Key {
	if i, ok := s.at[digest]; ok {
		return s.rest[i].key
	}
	return nil
}

// clear makes the summary empty.
func (s *summary) clear() {
	clear(s.at)
	clear(s.rest)
	s.counts, s.rest, s.total = s.counts[:0], s.rest[:0], 0
}

// copied is what the summary holds at the moment.
func (s *summary) copied() summary {
	return summary{counts: append([]int64(nil), s.counts...), rest: append([]slot(nil), s.rest...), total: s.total}
}
