package auth

import "k8s.io/apiserver/pkg/authentication/user"

// subject is a user as the upstream's authorizers see it. It exists while it has cached decisions, reviews under way or
// watches. An epoch is the number of observed changes of permissions so far; it is no epoch of a lane. The answer to a
// review that was sent in an earlier epoch says nothing about the permissions after the change.
type subject struct {
	key          string
	info         user.Info
	refs         int                          // number of cached decisions, reviews under way and shared decisions
	lost, gained uint64                       // epochs of the last change that may have taken or granted permissions
	decisions    map[*sharedDecision]struct{} // decisions that watches depend on
}

// trusts reports whether an answer to a review from the given epoch is still valid.
func (s *subject) trusts(allowed bool, asked uint64) bool {
	return asked >= s.lost && (allowed || asked >= s.gained)
}

// subjects are the known subjects by key. Not safe for concurrent use.
type subjects map[string]*subject

// refer returns the subject of a question and adds a reference, which leave removes.
func (s subjects) refer(q question) *subject {
	known := s[q.subject]
	if known == nil {
		known = &subject{key: q.subject, info: q.Caller.Info, decisions: map[*sharedDecision]struct{}{}}
		s[q.subject] = known
	}
	known.refs++
	return known
}

func (s subjects) leave(one *subject) {
	if one.refs--; one.refs == 0 {
		delete(s, one.key)
	}
}
