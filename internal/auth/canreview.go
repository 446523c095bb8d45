package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// CanReview returns nil if the upstream reviews tokens for the facade, or is not asked about any, and has told whether
// it lets the anonymous in; otherwise why not. It counts for nobody, and waits for Run.
func (a *Authenticator) CanReview(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case <-a.anonymous.known:
	case <-ctx.Done():
		return fmt.Errorf("whether the anonymous are let in is not known: %w", ctx.Err())
	}
	if a.tokens.reviewer == nil {
		return nil
	}
	_, err := a.tokens.review(ctx, "nobody's token")
	if errors.Is(err, ErrUnauthenticated) {
		return nil
	}
	return err
}

// CanReview returns nil if the upstream tells the facade what others may do, whatever it says; otherwise why not.
func (r *Reviews) CanReview(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	anybody := NewCaller(&user.DefaultInfo{Name: user.Anonymous}, Anonymously, time.Time{})
	question := Attributes{Caller: anybody, Verb: "get", Version: "v1", Resource: "pods"}
	_, err := review(ctx, r.config.Upstream, reviewsPath, subjectAccessReview(question))
	return err
}
