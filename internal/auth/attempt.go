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
	retryWithin = 2 * time.Second // after which a request rather hears that it should come back
	retryDelay  = 100 * time.Millisecond
)

// insist reviews a question, once more and twice if what went wrong may have passed by then.
func (r *Reviews) insist(ctx context.Context, a Attributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	began := time.Now()
	for try := range maxRetries {
		status, err := r.attempt(ctx, a, ByRequest)
		after, passes := passesIn(err, try)
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
	return r.attempt(ctx, a, ByRequest)
}

// attempt sends one review. One that was not sent is no trouble of the upstream's.
func (r *Reviews) attempt(ctx context.Context, a Attributes, asker Asker) (authorizationv1.SubjectAccessReviewStatus, error) {
	asked := time.Now()
	status, err := review(ctx, r.upstreamFor(asker), reviewsPath, subjectAccessReview(a))
	switch {
	case isNotSent(err):
		return status, err
	case err == nil || isAnswer(err):
		r.trouble.over()
	default:
		r.trouble.unansweredSince(asked)
	}
	r.observer.Reviewed(asker, time.Since(asked), err)
	return status, err
}

func (r *Reviews) upstreamFor(asker Asker) Upstream {
	if asker == ByWatchAuthorization {
		return r.config.Watches.Upstream
	}
	return r.config.Upstream
}

// isAnswer tells what is wrong with one question from what is wrong with the upstream.
func isAnswer(err error) bool {
	var code *codeError
	return errors.As(err, &code) && code.code >= 400 && code.code < 500 && code.code != http.StatusTooManyRequests
}

// passesIn tells when what went wrong may have passed: what kube-apiserver's own delegating clients try again, too.
func passesIn(err error, try int) (time.Duration, bool) {
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

// invalid is what the answer says of a question that is none; nil if it says nothing like that.
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

// retryAfter is what a Status asks for; a second, as kube-apiserver's priority and fairness does, without one.
func (e *codeError) retryAfter() time.Duration {
	var status metav1.Status
	if err := json.Unmarshal(e.body, &status); err == nil && status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		return time.Duration(status.Details.RetryAfterSeconds) * time.Second
	}
	return time.Second
}
