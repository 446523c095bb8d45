package auth

import (
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// What the upstream does not take for a question is told in its words; whatever else it answers is no word on the
// review.
func TestInvalidReview(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no field","reason":"Invalid","code":`
	for name, c := range map[string]struct {
		code int
		body string
		want int // 0 is unavailable
	}{
		"invalid":        {422, status + "422}", 422},
		"a bad request":  {400, status + "400}", 400},
		"another code":   {400, status + "500}", 0},
		"a proxy's page": {400, "<html>", 0},
		"forbidden":      {403, status + "403}", 0},
		"missing":        {404, status + "404}", 0},
		"an error":       {500, status + "500}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge()
			j.code, j.text = c.code, c.body
			_, err := NewReviews(ReviewsConfig{Upstream: j}).Review(t.Context(), person("alice"), authorizationv1.SelfSubjectAccessReviewSpec{})
			var (
				invalid     *InvalidError
				unavailable *UnavailableError
			)
			switch {
			case c.want == 0 && !errors.As(err, &unavailable):
				t.Error(err)
			case c.want != 0 && (!errors.As(err, &invalid) || int(invalid.Answer.Code) != c.want || invalid.Answer.Message != "no field"):
				t.Error(err)
			}
		})
	}
}
