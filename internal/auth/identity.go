package auth

// identity is a caller with cached decisions, reviews under way or watch authorizations. Epochs count the observed
// changes of permissions. The answer to a review that was sent in an earlier epoch says nothing about the permissions
// after the change.
type identity struct {
	caller       *Caller
	refs         int                          // number of cached decisions, reviews under way and shared decisions
	lost, gained uint64                       // epochs of the last change that may have taken or granted permissions
	decisions    map[*sharedDecision]struct{} // decisions that watches depend on
	missed       bool                         // whether the identity was missing at the last check; used by Run only
}

// trusts reports whether an answer to a review from the given epoch is still valid.
func (i *identity) trusts(allowed bool, asked uint64) bool {
	return asked >= i.lost && (allowed || asked >= i.gained)
}

// identities are the known identities by Caller.key. Not safe for concurrent use.
type identities map[string]*identity

// refer returns the identity of a caller and adds a reference, which leave removes.
func (s identities) refer(caller *Caller) *identity {
	id := s[caller.key]
	if id == nil {
		id = &identity{caller: caller, decisions: map[*sharedDecision]struct{}{}}
		s[caller.key] = id
	}
	id.refs++
	return id
}

func (s identities) leave(id *identity) {
	if id.refs--; id.refs == 0 {
		delete(s, id.caller.key)
	}
}
