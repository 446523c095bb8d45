package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TokenReviewer sends TokenReviews to the upstream.
type TokenReviewer interface {
	// Post sends a JSON body to a path of the upstream and returns the status code and body of the response. Its errors
	// must not contain any part of the body.
	Post(ctx context.Context, path string, body []byte) (int, []byte, error)
}

const tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"

var errNoReview = errors.New("TokenReview: response is not a TokenReview")

// reviewed is the result of a review: the caller of an accepted token and the audiences for which the upstream accepts
// it, or why the upstream refused the token.
type reviewed struct {
	caller    *Caller
	audiences []string
	refusal   string // may contain the token
}

// review asks the upstream for the user of a token. The response repeats the token, so no part of it is used in errors.
func (t *tokens) review(ctx context.Context, token string) (reviewed, error) {
	var none reviewed
	body, err := json.Marshal(authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	})
	if err != nil {
		return none, ErrUnauthenticated // unreachable: a TokenReview can always be encoded
	}
	code, answer, err := t.reviewer.Post(ctx, tokenReviews, body)
	if err != nil {
		return none, &UnavailableError{Err: fmt.Errorf("TokenReview: %w", err)}
	}
	// 401 and 403 concern the facade's own credentials.
	if code != http.StatusCreated && code != http.StatusOK {
		return none, &UnavailableError{Err: fmt.Errorf("TokenReview: %w", &codeError{code: code})}
	}
	var review authenticationv1.TokenReview
	if json.Unmarshal(answer, &review) != nil || review.Kind != "TokenReview" {
		return none, &UnavailableError{Err: errNoReview}
	}
	return t.evaluate(review.Status, token)
}

// evaluate returns the caller for a review. status.error, in which kube-apiserver explains an unknown token, is only
// logged: a retry would have the same result.
func (t *tokens) evaluate(status authenticationv1.TokenReviewStatus, token string) (reviewed, error) {
	accepted := authenticator.Audiences(status.Audiences)
	if len(t.audiences) > 0 {
		accepted = authenticator.Audiences(t.audiences).Intersect(accepted)
	}
	// A response without audiences is valid for the upstream's own audiences, not for the requested ones.
	switch {
	case !status.Authenticated:
		return reviewed{refusal: status.Error}, ErrUnauthenticated
	case len(t.audiences) > 0 && len(accepted) == 0:
		return reviewed{refusal: "token is valid for other audiences only"}, ErrUnauthenticated
	}
	caller, err := authenticated(infoOf(status.User), ByToken, expiry(token))
	return reviewed{caller: caller, audiences: accepted}, err
}

func infoOf(u authenticationv1.UserInfo) user.Info {
	info := &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups}
	if len(u.Extra) > 0 {
		info.Extra = make(map[string][]string, len(u.Extra))
		for key, values := range u.Extra {
			info.Extra[key] = values
		}
	}
	return info
}
