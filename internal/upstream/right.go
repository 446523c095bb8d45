package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is a permission that the facade's own user may need.
type Right = authorizationv1.ResourceAttributes

// Has reports whether the kubeconfig user has a permission, by a SelfSubjectAccessReview. It fails when the review
// fails, or when the upstream does not accept the user's credentials. It also fails when the user is not allowed and
// the authorizer could not evaluate all rules.
func (c *Client) Has(ctx context.Context, right Right) (bool, error) {
	question, err := json.Marshal(authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	})
	if err != nil {
		return false, fmt.Errorf("encode the access review: %w", err)
	}
	code, body, err := c.Post(ctx, reviewsPath, question)
	if err != nil {
		return false, err
	}
	if code != http.StatusCreated && code != http.StatusOK {
		return false, &StatusError{Code: code, Header: http.Header{}, Body: body}
	}
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(body, &review); err != nil {
		return false, fmt.Errorf("read the access review: %w", err)
	}
	if status := review.Status; !status.Allowed && status.EvaluationError != "" {
		return false, fmt.Errorf("the upstream's authorizer could not evaluate all rules: %s", status.EvaluationError)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}
