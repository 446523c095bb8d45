package auth

import "time"

// second is what shares took in the current one. The zero value is over. Not safe for concurrent use.
type second struct {
	began  time.Time
	took   map[string]int
	before int // how many shares took something in the one before
}

// turn begins another one when this is over.
func (s *second) turn(now time.Time) {
	over := now.Sub(s.began)
	if over < time.Second {
		return
	}
	s.before = len(s.took)
	if over >= 2*time.Second {
		s.before = 0
	}
	s.began, s.took = now, map[string]int{}
}

// ends is how long it lasts yet; above 0 after turn.
func (s *second) ends(now time.Time) time.Duration { return s.began.Add(time.Second).Sub(now) }

// owes tells whether one more is within the share's part of a total, which is the same for all who want some; each is
// owed one at least.
func (s *second) owes(share string, total float64) bool {
	wanting := len(s.took)
	if s.took[share] == 0 {
		wanting++
	}
	part := max(1, total/float64(max(wanting, s.before)))
	return float64(s.took[share]+1) <= part
}
