package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reviewsPath takes questions about what the facade's own user may do.
const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// reviewWait is how long the upstream may take to say what the facade may do.
const reviewWait = 5 * time.Second

// Denies asks the upstream's authorizer whether it denies the facade's user to list or to watch all objects of a
// resource. An error means that it did not say: it could not be asked, does not know who asks, or could not evaluate
// all rules.
func (c *Client) Denies(ctx context.Context, r Resource) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewWait)
	defer cancel()
	for _, verb := range []string{"list", "watch"} {
		denied, err := c.denies(ctx, r, verb)
		if err != nil || denied {
			return denied, err
		}
	}
	return false, nil
}

func (c *Client) denies(ctx context.Context, r Resource, verb string) (bool, error) {
	question, err := json.Marshal(authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: r.GVR.Group, Version: r.GVR.Version, Resource: r.GVR.Resource,
		}},
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
	return !review.Status.Allowed || review.Status.Denied, nil
}
