package auth

import (
	"context"
	"errors"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Review forwards a caller's own SelfSubjectAccessReview to the upstream as a SubjectAccessReview, and returns its
// status. The review counts against the rate of the caller. Errors are a *BusyError, an *UnavailableError, or an
// *InvalidError if the upstream rejects the review as invalid.
func (r *Reviews) Review(ctx context.Context, c *Caller,
	asked authorizationv1.SelfSubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	seat, err := r.takeTurn(ctx, c)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	defer seat.leave()
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
	took := time.Since(began)
	seat.report(accessReviewWork, took, err)
	r.observer.Reviewed(ForRequest, took, err)
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

func (r *Reviews) takeTurn(ctx context.Context, c *Caller) (*seat, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Seats.wait())
	defer cancel()
	if err := r.takePace(ctx, c); err != nil {
		return nil, err
	}
	return r.takeSeat(ctx, c)
}
