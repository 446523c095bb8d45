package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Upstream sends access reviews to the upstream kube-apiserver.
type Upstream interface {
	// Post sends a JSON body to a path of the upstream and returns the status code and body of the response.
	Post(ctx context.Context, path string, body []byte) (int, []byte, error)
	// Silent returns how long the upstream has answered no request of the facade; 0 while it answers.
	Silent() time.Duration
}

var errRefused = errors.New("access review refused by the upstream")

// errNoAccessReview is returned when the response is not a review, but for example the page of a proxy. Such a response
// is neither a permission nor a refusal.
var errNoAccessReview = errors.New("access review: response is not a SubjectAccessReview")

type codeError struct {
	code int
	body []byte
}

func (e *codeError) Error() string {
	return fmt.Sprintf("unexpected status code %d", e.code)
}

func (e *codeError) isOverload() bool {
	return e.code == http.StatusServiceUnavailable || e.code == http.StatusGatewayTimeout
}

func review(ctx context.Context, upstream Upstream, path string,
	question any) (authorizationv1.SubjectAccessReviewStatus, error) {
	var answer struct {
		Kind   string                                    `json:"kind"`
		Status authorizationv1.SubjectAccessReviewStatus `json:"status"`
	}
	body, err := json.Marshal(question)
	if err != nil {
		return answer.Status, fmt.Errorf("encode the access review: %w", err)
	}
	code, text, err := upstream.Post(ctx, path, body)
	switch {
	case err != nil:
		return answer.Status, err
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return answer.Status, fmt.Errorf("%w: status code %d", errRefused, code)
	case code != http.StatusCreated && code != http.StatusOK:
		return answer.Status, fmt.Errorf("access review: %w", &codeError{code: code, body: text})
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("decode the access review: %w", err)
	}
	if !strings.HasSuffix(answer.Kind, "SubjectAccessReview") { // otherwise, any other object would count as a refusal
		return authorizationv1.SubjectAccessReviewStatus{}, errNoAccessReview
	}
	return answer.Status, nil
}

// allows reports whether a review allows the request. Denied takes precedence over Allowed.
func allows(status authorizationv1.SubjectAccessReviewStatus) bool {
	return status.Allowed && !status.Denied
}
