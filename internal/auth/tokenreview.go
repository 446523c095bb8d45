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

// TokenReviewer is who is asked about tokens.
type TokenReviewer interface {
	// Post sends a JSON body to a path of the upstream and returns the answer's code and body. Its errors hold nothing
	// of the body.
	Post(ctx context.Context, path string, body []byte) (int, []byte, error)
}

const tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"

var errNoReview = errors.New("the upstream's answer to a TokenReview is none")

// review asks whom a token stands for. An answer repeats the token, so that no part of it gets into an error.
func (t *tokens) review(ctx context.Context, token string) (*Caller, error) {
	body, err := json.Marshal(authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: t.audiences},
	})
	if err != nil {
		return nil, ErrUnauthenticated // BUG: a TokenReview can always be encoded
	}
	code, answer, err := t.reviewer.Post(ctx, tokenReviews, body)
	if err != nil {
		return nil, &UnavailableError{Err: fmt.Errorf("review a token: %w", err)}
	}
	// 401 and 403 are about the facade's own credentials.
	if code != http.StatusCreated && code != http.StatusOK {
		return nil, &UnavailableError{Err: fmt.Errorf("the upstream answered %d to a TokenReview", code)}
	}
	var review authenticationv1.TokenReview
	if json.Unmarshal(answer, &review) != nil || review.Kind != "TokenReview" {
		return nil, &UnavailableError{Err: errNoReview}
	}
	return t.judge(review.Status, token)
}

// judge believes an answer. kube-apiserver says why it does not know a token in status.error, which is no error of the
// review: the next one would have the same answer.
func (t *tokens) judge(status authenticationv1.TokenReviewStatus, token string) (*Caller, error) {
	if !status.Authenticated {
		return nil, ErrUnauthenticated
	}
	// An answer without audiences says that the token is good for the upstream's own, which is not what was asked.
	if len(t.audiences) > 0 && len(authenticator.Audiences(t.audiences).Intersect(status.Audiences)) == 0 {
		return nil, ErrUnauthenticated
	}
	return authenticated(infoOf(status.User), ByToken, expiry(token))
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
