package auth

import (
	"crypto/sha256"

	authorizationv1 "k8s.io/api/authorization/v1"
)

type question struct {
	Attributes
	identity string            // key of the identity whose permission is reviewed (Caller.subjectIn)
	period   period            // period in which tokens share the answer; 0 if they do not
	hash     [sha256.Size]byte // hash of the attributes, with the identity in place of the caller
	kept     bool              // whether the answer may be cached
}

// maxNamespace is the maximum length of a namespace's name in bytes. kube-apiserver creates no binding in a namespace
// with a longer name.
const maxNamespace = 63

func newQuestion(a Attributes, p period) question {
	if a.Caller.account == "" {
		p = 0
	}
	q := question{Attributes: a, identity: a.Caller.subjectIn(p), period: p}
	key := a.appendKey(make([]byte, 0, typicalKeySize), q.identity)
	q.hash, q.kept = sha256.Sum256(key), len(key) <= maxKeptKey
	return q
}

// scope returns the namespace whose RoleBindings decide the question, together with ClusterRoleBindings; empty if only
// ClusterRoleBindings decide it. It is also empty for a name that is too long for a namespace. Such a name must not be
// stored, because it may have the length of a URL.
func (q question) scope() string {
	if len(q.Namespace) > maxNamespace {
		return ""
	}
	return q.Namespace
}

type answer struct {
	allowed  bool
	reason   string
	byOthers bool // whether another authorizer than RBAC took part
}

func answerOf(status authorizationv1.SubjectAccessReviewStatus) answer {
	return answer{allowed: allows(status), reason: status.Reason, byOthers: byOthers(status)}
}

func (a answer) decision(key string) (Decision, error) {
	if !a.allowed {
		return Decision{}, &DeniedError{Reason: a.reason}
	}
	return Decision{key: key, reason: a.reason}, nil
}
