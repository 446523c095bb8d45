package auth

import (
	"runtime"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// A request after Lost never joins a review that was sent before it, not even while the review ends. That moment is
// short, so each of many rounds looks for it all the time.
func TestNoRequestAfterLossJoinsAnEarlierReview(t *testing.T) {
	for round := range 2000 {
		j := newJudge()
		r := NewReviews(ReviewsConfig{Upstream: j})
		j.allow = func(authorizationv1.SubjectAccessReviewSpec) bool {
			r.Lost(named("alice"))
			return true
		}
		q := newQuestion(podsOf(person("alice"), "a"), r.period())
		reply := r.ask(t.Context(), q)
		for ended := false; !ended; runtime.Gosched() {
			r.mu.Lock()
			_, joins := r.underWay[r.flightOf(q)]
			lost := r.epoch > 0
			ended = len(r.underWay) == 0
			r.mu.Unlock()
			if lost && joins {
				t.Fatalf("round %d: got a request that joins a review sent before Lost, want none", round)
			}
		}
		<-reply
	}
}
