package auth

import (
	"container/list"
	"crypto/sha256"
	"time"
	"unique"
)

// Limits of the verdicts that are kept.
const (
	maxVerdicts      = 65536
	maxVerdictsShare = maxVerdicts / 20
	maxKeptReason    = 1 << 10 // bytes; a longer one is not kept, nor its verdict
	maxKeptKey       = 16 << 10
)

// verdict is what the upstream said to one question.
type verdict struct {
	hash    [sha256.Size]byte
	who     *identity
	share   string
	allowed bool
	reason  unique.Handle[string] // most of one binding have the same
	asked   uint64                // the epoch that the question was asked in
	made    time.Time

	inShare, inAll *list.Element
}

// verdicts are kept oldest first, those of each share and all: whoever asks more than its share of them pushes out its
// own. Not safe for concurrent use.
type verdicts struct {
	lasts  time.Duration // after which none is of use
	byHash map[[sha256.Size]byte]*verdict
	all    *list.List
	shares map[string]*list.List
	left   func(*identity) // told of each that a verdict is forgotten of
}

func newVerdicts(lasts time.Duration, left func(*identity)) *verdicts {
	return &verdicts{lasts: lasts, byHash: map[[sha256.Size]byte]*verdict{}, all: list.New(), shares: map[string]*list.List{}, left: left}
}

// put keeps a verdict in place of an older one; its identity was referred to for it.
func (s *verdicts) put(v *verdict) {
	s.forget(v.hash)
	for front := s.all.Front(); front != nil && time.Since(front.Value.(*verdict).made) > s.lasts; front = s.all.Front() {
		s.drop(front.Value.(*verdict))
	}
	if own := s.shares[v.share]; own != nil && own.Len() >= maxVerdictsShare {
		s.drop(own.Front().Value.(*verdict))
	}
	if s.all.Len() >= maxVerdicts {
		s.drop(s.all.Front().Value.(*verdict))
	}
	own := s.shares[v.share]
	if own == nil {
		own = list.New()
		s.shares[v.share] = own
	}
	v.inShare, v.inAll = own.PushBack(v), s.all.PushBack(v)
	s.byHash[v.hash] = v
}

// forget drops the verdict on a question, if there is one.
func (s *verdicts) forget(hash [sha256.Size]byte) {
	if old := s.byHash[hash]; old != nil {
		s.drop(old)
	}
}

func (s *verdicts) drop(v *verdict) {
	delete(s.byHash, v.hash)
	s.all.Remove(v.inAll)
	own := s.shares[v.share]
	own.Remove(v.inShare)
	if own.Len() == 0 {
		delete(s.shares, v.share)
	}
	s.left(v.who)
}
