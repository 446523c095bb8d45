package auth

import (
	"net/http"
	"testing"
	"time"
)

// Reviews that the upstream rejects as invalid reach no authorizer. A caller who sends them must not make all others
// look slow.
func TestInvalidReviewsSayNothingAboutSpeed(t *testing.T) {
	s := NewSeats()
	take := func() *seat {
		one, err := s.take(t.Context(), watchesKey, 0)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	invalid := take()
	invalid.report(accessReviewWork, time.Microsecond, &codeError{code: http.StatusUnprocessableEntity})
	if invalid.leave(); s.unanswered.Load() {
		t.Error("a refusal counts as no answer")
	}
	for range 20 {
		one, two := take(), take()
		for _, seat := range []*seat{one, two} {
			seat.report(accessReviewWork, 50*time.Millisecond, nil)
			seat.leave()
		}
	}
	if got := s.Load().All; got <= 4 {
		t.Errorf("got %d seats for reviews that take the same time, want more", got)
	}
}
