package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how many a second in the long run, and how many at once. Both are above 0.
type Rate struct {
	PerSecond float64
	Burst     int
}

func (r Rate) limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst) }

// refills is after how long of rest nothing of a burst is missing.
func (r Rate) refills() time.Duration {
	return time.Duration(float64(r.Burst) / r.PerSecond * float64(time.Second))
}

// rates bounds what costs the upstream a question: of each share of the facade, and over all. Half of what may come at
// once over all is for those who had no more than their part in the current second: who floods, under however many
// names, is refused before others are. A limiter that rested for
// as long as it takes to fill up says what a new one says, so it is forgotten: there are two generations, and who is in
// neither has rested. How many there are at most follows from the rate over all, without which none is made.
type rates struct {
	each Rate

	mu         sync.Mutex // guards the rest
	all        *rate.Limiter
	young, old map[string]*rate.Limiter
	turned     time.Time // when the young last became old
	second     second
}

func newRates(each, all Rate) *rates {
	return &rates{each: each, all: all.limiter(), young: map[string]*rate.Limiter{}, turned: time.Now()}
}

// take lets one more of a share pass; else it says after how long to come back, which is above 0.
func (r *rates) take(share string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	left := r.all.TokensAt(now)
	if missing := 1 - left; missing > 0 {
		return time.Duration(missing / float64(r.all.Limit()) * float64(time.Second))
	}
	r.second.turn(now)
	if left < 1+float64(r.all.Burst())/2 && !r.second.owes(share, float64(r.all.Limit())) {
		return r.second.ends(now)
	}
	reservation := r.of(share, now).ReserveN(now, 1)
	if after := reservation.DelayFrom(now); after > 0 {
		reservation.CancelAt(now)
		return after
	}
	r.all.AllowN(now, 1)
	r.second.took[share]++
	return 0
}

func (r *rates) of(share string, now time.Time) *rate.Limiter {
	if now.Sub(r.turned) > r.each.refills() {
		r.young, r.old, r.turned = map[string]*rate.Limiter{}, r.young, now
	}
	limiter := r.young[share]
	if limiter == nil {
		if limiter = r.old[share]; limiter == nil {
			limiter = r.each.limiter()
		}
		r.young[share] = limiter
	}
	return limiter
}
