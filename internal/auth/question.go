package auth

import (
	"crypto/sha256"

	authorizationv1 "k8s.io/api/authorization/v1"
)

type question struct {
	Attributes
	subject string            // key of the subject whose permission is reviewed (Caller.subjectIn)
	period  period            // period in which tokens share the answer; 0 if they do not
	hash    [sha256.Size]byte // hash of the attributes, with the subject in place of the caller
	kept    bool              // whether the answer may be cached
}

func newQuestion(a Attributes, p period) question {
	if a.Caller.account == "" {
		p = 0
	}
	q := question{Attributes: a, subject: a.Caller.subjectIn(p), period: p}
	key := a.appendKey(make([]byte, 0, typicalKeySize), q.subject)
	q.hash, q.kept = sha256.Sum256(key), len(key) <= maxKeptKey
	return q
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
