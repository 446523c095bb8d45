package auth

import "time"

// window counts the reviews that each share took in the current second. The zero value is a second that has ended. Not
// safe for concurrent use.
type window struct {
	began  time.Time
	taken  map[string]int
	before int // number of shares that took a review in the previous second
}

// advance starts a new second if the current one has ended.
func (s *window) advance(now time.Time) {
	over := now.Sub(s.began)
	if over < time.Second {
		return
	}
	s.before = len(s.taken)
	if over >= 2*time.Second {
		s.before = 0
	}
	s.began, s.taken = now, map[string]int{}
}

// remaining returns the time until the current second ends; above 0 after advance.
func (s *window) remaining(now time.Time) time.Duration { return s.began.Add(time.Second).Sub(now) }

// admits reports whether one more review is within the fair part of a share. The fair part is the total divided by the
// number of active shares, and at least one review.
func (s *window) admits(share string, total float64) bool {
	wanting := len(s.taken)
	if s.taken[share] == 0 {
		wanting++
	}
	fairShare := max(1, total/float64(max(wanting, s.before)))
	return float64(s.taken[share]+1) <= fairShare
}
