package auth

// identity is a caller for as long as something is known of it: a decision, a review on its way, a lease. Epochs count
// the changes of rights that were seen; an answer that was asked for before one says nothing about what is now.
type identity struct {
	caller       *Caller
	refs         int                          // of decisions, of reviews on their way and of what is held
	lost, gained uint64                       // the epochs in which its rights may last have shrunk, and grown
	held         map[*sharedDecision]struct{} // what it holds
	missed       bool                         // whether it was not found when it was last looked for; Run's own
}

// trusts tells whether an answer that was asked for in an epoch still counts.
func (i *identity) trusts(allowed bool, asked uint64) bool {
	return asked >= i.lost && (allowed || asked >= i.gained)
}

// identities are those of whom something is known. Not safe for concurrent use.
type identities map[string]*identity

// refer returns who a caller is, and keeps it until it is left.
func (s identities) refer(caller *Caller) *identity {
	who := s[caller.key]
	if who == nil {
		who = &identity{caller: caller, held: map[*sharedDecision]struct{}{}}
		s[caller.key] = who
	}
	who.refs++
	return who
}

func (s identities) leave(who *identity) {
	if who.refs--; who.refs == 0 {
		delete(s, who.caller.key)
	}
}
