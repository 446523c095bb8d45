package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

const reviewsPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

const (
	maxRetries  = 2
	retryWithin = 2 * time.Second // time after the first attempt in which retries may start
	retryDelay  = 100 * time.Millisecond
)

// reviewWithRetries sends a review, and retries it after errors that may be transient. The review keeps its seat
// between the attempts.
func (r *Reviews) reviewWithRetries(ctx context.Context, a Attributes,
	seat *seat) (authorizationv1.SubjectAccessReviewStatus, error) {
	began := time.Now()
	for try := range maxRetries {
		status, err := r.attempt(ctx, a, ForRequest, seat)
		after, passes := retryDelayFor(err, try)
		if !passes || time.Since(began)+after >= retryWithin {
			return status, err
		}
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return status, err
		}
	}
	return r.attempt(ctx, a, ForRequest, seat)
}

func (r *Reviews) attempt(ctx context.Context, a Attributes, purpose Purpose,
	seat *seat) (authorizationv1.SubjectAccessReviewStatus, error) {
	asked := time.Now()
	status, err := review(ctx, r.config.Upstream, reviewsPath, subjectAccessReview(a))
	took := time.Since(asked)
	if err == nil || isAnswer(err) {
		r.trouble.recordAnswer()
	} else {
		r.trouble.recordNoAnswer(asked)
	}
	seat.report(accessReviewWork, took, err)
	r.observer.Reviewed(purpose, took, err)
	return status, err
}

// isAnswer reports whether an error is the upstream's answer to this review. Overload (429), server errors and refusals
// of the facade's own credentials (401, 403) are no answers.
func isAnswer(err error) bool {
	var code *codeError
	return errors.As(err, &code) && code.code >= 400 && code.code < 500 && code.code != http.StatusTooManyRequests
}

// retryDelayFor returns the delay before the next try, and whether the error may be transient. Transient errors are
// those that kube-apiserver's delegated authorization retries.
func retryDelayFor(err error, try int) (time.Duration, bool) {
	var code *codeError
	switch {
	case err == nil:
		return 0, false
	case utilnet.IsConnectionReset(err), utilnet.IsHTTP2ConnectionLost(err):
		return wait.Jitter(retryDelay<<try, 0.5), true
	case !errors.As(err, &code):
		return 0, false
	case code.code == http.StatusInternalServerError:
		return wait.Jitter(retryDelay<<try, 0.5), true
	case code.code == http.StatusTooManyRequests:
		return code.retryAfter(), true
	default:
		return 0, false
	}
}

func (e *codeError) invalid() *InvalidError {
	if e.code != http.StatusBadRequest && e.code != http.StatusUnprocessableEntity {
		return nil
	}
	var status metav1.Status
	if json.Unmarshal(e.body, &status) != nil || status.Kind != "Status" || int(status.Code) != e.code {
		return nil
	}
	return &InvalidError{Answer: status}
}

// retryAfter returns the delay that a Status requests; otherwise 1 s, the delay of API Priority and Fairness.
func (e *codeError) retryAfter() time.Duration {
	var status metav1.Status
	if err := json.Unmarshal(e.body, &status); err == nil && status.Details != nil &&
		status.Details.RetryAfterSeconds > 0 {
		return time.Duration(status.Details.RetryAfterSeconds) * time.Second
	}
	return time.Second
}
