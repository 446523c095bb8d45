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

// Upstream is who is asked.
type Upstream interface {
	// Post sends a JSON body to a path of the upstream and returns the answer's code and body. An error that has a
	// method NotSent says nothing about the upstream: more was to be sent than the facade sends.
	Post(ctx context.Context, path string, body []byte) (int, []byte, error)
	// Silent is how long the upstream has not answered anybody who asked it anything; 0 while it does.
	Silent() time.Duration
}

// notSent is an error about a question that the facade did not send.
type notSent interface {
	error
	NotSent()
}

func isNotSent(err error) bool {
	var e notSent
	return errors.As(err, &e)
}

// errRefused says that the upstream did not even let a review pass.
var errRefused = errors.New("the upstream refused an access review")

// errNoAccessReview says that what came is something else: a proxy's page, say. It is no answer, and ends no watch.
var errNoAccessReview = errors.New("the upstream's answer to an access review is none")

// codeError is an answer that is no review.
type codeError struct {
	code int
	body []byte
}

func (e *codeError) Error() string {
	return fmt.Sprintf("the upstream answered %d to an access review", e.code)
}

// review posts a review of any kind, and returns what the upstream says to it.
func review(ctx context.Context, upstream Upstream, path string, question any) (authorizationv1.SubjectAccessReviewStatus, error) {
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
		return answer.Status, fmt.Errorf("%w: %d", errRefused, code)
	case code != http.StatusCreated && code != http.StatusOK:
		return answer.Status, &codeError{code: code, body: text}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("read the access review: %w", err)
	}
	if !strings.HasSuffix(answer.Kind, "SubjectAccessReview") { // without one, all else would be a no
		return authorizationv1.SubjectAccessReviewStatus{}, errNoAccessReview
	}
	return answer.Status, nil
}

// allows tells what counts: who is denied is not allowed, whatever else is said.
func allows(status authorizationv1.SubjectAccessReviewStatus) bool {
	return status.Allowed && !status.Denied
}
