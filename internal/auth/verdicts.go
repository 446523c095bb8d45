package auth

import (
	"container/list"
	"crypto/sha256"
	"time"
	"unique"
)

const (
	maxVerdicts      = 65536
	maxVerdictsShare = maxVerdicts / 20
	maxKeptReason    = 1 << 10  // bytes; a verdict with a longer reason is not cached
	maxKeptKey       = 16 << 10 // bytes; the answer to a question with a longer key is not cached
)

type verdict struct {
	hash    [sha256.Size]byte
	subject *subject
	share   string
	allowed bool
	reason  unique.Handle[string] // interned, because all verdicts by one binding have the same reason
	asked   uint64                // number of observed changes of permissions when the review was sent (Reviews.epoch)
	made    time.Time

	inShare, inTotal *list.Element
}

// verdicts caches the answers of reviews, oldest first, per share (Caller.Share) and in total. A new verdict replaces
// the oldest one of a share with maxVerdictsShare verdicts. Not safe for concurrent use.
type verdicts struct {
	lasts  time.Duration // maximum age of a useful verdict
	byHash map[[sha256.Size]byte]*verdict
	all    *list.List
	shares map[string]*list.List
	left   func(*subject) // called for the subject of each dropped verdict
}

func newVerdicts(lasts time.Duration, left func(*subject)) *verdicts {
	return &verdicts{lasts: lasts, byHash: map[[sha256.Size]byte]*verdict{}, all: list.New(),
		shares: map[string]*list.List{}, left: left}
}

// put caches a verdict in place of an older one. The caller has added a reference to its subject.
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
	v.inShare, v.inTotal = own.PushBack(v), s.all.PushBack(v)
	s.byHash[v.hash] = v
}

func (s *verdicts) forget(hash [sha256.Size]byte) {
	if old := s.byHash[hash]; old != nil {
		s.drop(old)
	}
}

// overrule drops the cached permission for a question that was refused. It keeps the permission if the permission's
// review was sent in a later epoch than the review that ended in the refusal.
func (s *verdicts) overrule(hash [sha256.Size]byte, asked uint64) {
	if old := s.byHash[hash]; old != nil && old.allowed && old.asked <= asked {
		s.drop(old)
	}
}

func (s *verdicts) drop(v *verdict) {
	delete(s.byHash, v.hash)
	s.all.Remove(v.inTotal)
	own := s.shares[v.share]
	own.Remove(v.inShare)
	if own.Len() == 0 {
		delete(s.shares, v.share)
	}
	s.left(v.subject)
}
