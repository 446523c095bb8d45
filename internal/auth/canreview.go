package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// CanReview returns nil if the treatment of anonymous requests is known and, with tokens enabled, the upstream reviews
// tokens. Run must be running. CanReview reviews the facade's own token, if there is one, to learn its audience before
// the first caller comes. This review counts in no limit and no metric.
func (a *Authenticator) CanReview(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case <-a.anonymous.known:
	case <-ctx.Done():
		return fmt.Errorf("determine whether the upstream accepts anonymous requests: %w", ctx.Err())
	}
	if a.tokens.reviewer == nil {
		return nil
	}
	err := a.tokens.canReview(ctx)
	if errors.Is(err, ErrUnauthenticated) {
		return nil
	}
	return err
}

func (t *tokens) canReview(ctx context.Context) error {
	token, v := "listfacade-readiness-check", (*boundToken)(nil)
	if own := t.bound.ownToken(); own != "" {
		token, v = own, t.bound.verify(ctx, t.key(own), own)
	}
	answer, err := t.review(ctx, token)
	t.bound.compare(v, answer, err)
	return err
}

// CanReview returns nil if the upstream answers SubjectAccessReviews of the facade, and the cause otherwise.
func (r *Reviews) CanReview(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	anonymous := NewCaller(&user.DefaultInfo{Name: user.Anonymous}, Anonymously, time.Time{})
	question := Attributes{Caller: anonymous, Verb: "get", Version: "v1", Resource: "pods"}
	_, err := review(ctx, r.config.Upstream, reviewsPath, subjectAccessReview(question))
	return err
}
