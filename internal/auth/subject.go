package auth

import (
	"iter"
	"maps"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// subject is an identity in one namespace. It exists while it has cached decisions, reviews under way or watches.
//
// An epoch is the number of observed changes of permissions so far; it is no epoch of a lane. The answer to a review
// that was sent in an earlier epoch says nothing about the permissions after the change.
type subject struct {
	identity     *identity
	namespace    string                       // empty for requests over all namespaces or without a namespace
	refs         int                          // number of cached decisions, reviews under way and shared decisions
	lost, gained uint64                       // epochs of the last changes that may have taken and granted permissions
	decisions    map[*sharedDecision]struct{} // decisions that watches depend on; nil until the first one
}

// trusts reports whether an answer to a review from the given epoch is still valid.
func (s *subject) trusts(allowed bool, asked uint64) bool {
	return asked >= s.lost && (allowed || asked >= s.gained)
}

// add adds a decision that watches depend on. It also creates the map, because most subjects have no such decision.
func (s *subject) add(d *sharedDecision) {
	if s.decisions == nil {
		s.decisions = map[*sharedDecision]struct{}{}
	}
	s.decisions[d] = struct{}{}
}

// subjects are the known subjects, each with at least one reference. A change in a namespace walks through the subjects
// of that namespace only: the user who made the change must not cause more work. Not safe for concurrent use.
type subjects struct {
	identities identities
	namespaces map[string]map[*subject]struct{} // without the namespace ""
}

func newSubjects() subjects {
	return subjects{identities: identities{}, namespaces: map[string]map[*subject]struct{}{}}
}

// find returns the subject of a question, or nil.
func (s subjects) find(q question) *subject {
	if known := s.identities[q.identity]; known != nil {
		return known.subjects[q.scope()]
	}
	return nil
}

// refer returns the subject of a question and adds a reference, which leave removes.
func (s subjects) refer(q question) *subject {
	known := s.find(q)
	if known == nil {
		known = &subject{identity: s.identities.refer(q), namespace: strings.Clone(q.scope())} // keeps no URL in memory
		s.add(known)
	}
	known.refs++
	return known
}

func (s subjects) add(one *subject) {
	one.identity.subjects[one.namespace] = one
	if one.namespace == "" {
		return
	}
	all := s.namespaces[one.namespace]
	if all == nil {
		all = map[*subject]struct{}{}
		s.namespaces[one.namespace] = all
	}
	all[one] = struct{}{}
}

func (s subjects) leave(one *subject) {
	if one.refs--; one.refs > 0 {
		return
	}
	s.identities.remove(one)
	delete(s.namespaces[one.namespace], one)
	if len(s.namespaces[one.namespace]) == 0 {
		delete(s.namespaces, one.namespace)
	}
}

// of returns the subjects of an identity.
func (s subjects) of(key string) iter.Seq[*subject] {
	if known := s.identities[key]; known != nil {
		return maps.Values(known.subjects)
	}
	return func(func(*subject) bool) {}
}

// affected returns the subjects of affected users in a namespace, or all their subjects if the namespace is "".
func (s subjects) affected(namespace string, affects func(user.Info) bool) iter.Seq[*subject] {
	return func(yield func(*subject) bool) {
		if namespace != "" {
			for one := range s.namespaces[namespace] {
				if affects(one.identity.info) && !yield(one) {
					return
				}
			}
			return
		}
		for _, known := range s.identities {
			if !affects(known.info) {
				continue
			}
			for _, one := range known.subjects {
				if !yield(one) {
					return
				}
			}
		}
	}
}
