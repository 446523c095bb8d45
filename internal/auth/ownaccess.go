package auth

import (
	"context"
	"errors"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Review asks the upstream what the caller asks about himself, in his own words, and returns what it says. It counts as
// a question of the caller's share. Its errors are those of Authorize but for the refusal, and an *InvalidError for
// what the upstream does not take for a question.
func (r *Reviews) Review(ctx context.Context, c *Caller, asked authorizationv1.SelfSubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	if after := r.misses.take(c.Share()); after > 0 {
		return authorizationv1.SubjectAccessReviewStatus{}, &BusyError{After: after}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	status, err := review(ctx, r.config.Upstream, reviewsPath, &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: asked.ResourceAttributes, NonResourceAttributes: asked.NonResourceAttributes,
			User: c.Info.GetName(), UID: c.Info.GetUID(), Groups: c.Info.GetGroups(), Extra: extraValues(c.Info),
		},
	})
	if isNotSent(err) {
		return status, &BusyError{After: retryAfter}
	}
	r.observer.Reviewed(ByRequest, time.Since(began), err)
	var code *codeError
	if errors.As(err, &code) {
		if invalid := code.invalid(); invalid != nil {
			return status, invalid
		}
	}
	if err != nil {
		return status, &UnavailableError{Err: err}
	}
	return status, nil
}
