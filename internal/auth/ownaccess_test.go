package auth

import (
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// A review that the upstream rejects as invalid is reported with the upstream's Status. Any other failure means that
// the review is unavailable.
func TestInvalidReviewReturnsUpstreamStatus(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no field","reason":"Invalid","code":`
	for name, c := range map[string]struct {
		code int
		body string
		want int // status code of an InvalidError; 0 for an UnavailableError
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
				t.Errorf("got %v, want an UnavailableError", err)
			case c.want != 0 && (!errors.As(err, &invalid) || int(invalid.Answer.Code) != c.want || invalid.Answer.Message != "no field"):
				t.Errorf("got %v, want an InvalidError with code %d", err, c.want)
			}
		})
	}
}
