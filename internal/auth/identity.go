package auth

import "k8s.io/apiserver/pkg/authentication/user"

// identity is a user as the upstream's authorizers see it. It exists while it has subjects.
type identity struct {
	key      string // Caller.subjectIn
	info     user.Info
	subjects map[string]*subject // by namespace
}

// identities are the known identities by key. Not safe for concurrent use.
type identities map[string]*identity

// refer returns the identity of a question, and adds it if it is unknown. The caller must then add a subject to it.
func (s identities) refer(q question) *identity {
	known := s[q.identity]
	if known == nil {
		known = &identity{key: q.identity, info: q.Caller.Info, subjects: map[string]*subject{}}
		s[q.identity] = known
	}
	return known
}

func (s identities) remove(one *subject) {
	delete(one.identity.subjects, one.namespace)
	if len(one.identity.subjects) == 0 {
		delete(s, one.identity.key)
	}
}
