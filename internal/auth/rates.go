package auth

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a token bucket: PerSecond tokens per second, up to Burst. Both must be above 0.
type Rate struct {
	PerSecond float64
	Burst     int
}

func (r Rate) limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst) }

// refills returns the time in which an empty bucket fills up.
func (r Rate) refills() time.Duration {
	return time.Duration(float64(r.Burst) / r.PerSecond * float64(time.Second))
}

// rates bounds the reviews of requests, per share (one user, or one pod: Caller.Share) and in total. Half of the total
// burst is reserved for shares that took no more than their fair part in the current second. A share that sends too
// many requests is therefore refused first.
//
// Limiters are kept in two generations, young and old. A limiter that is in neither has been unused for so long that it
// is full, and a new one is equivalent. The total rate bounds the number of limiters, because a request beyond that
// rate creates none.
type rates struct {
	each Rate

	mu         sync.Mutex // guards the fields below
	all        *rate.Limiter
	young, old map[string]*rate.Limiter
	turned     time.Time // start of the young generation
	window     window
}

func newRates(each, all Rate) *rates {
	return &rates{each: each, all: all.limiter(), young: map[string]*rate.Limiter{}, turned: time.Now()}
}

// take takes one review of a share and returns 0, or returns the delay before a retry, which is above 0.
func (r *rates) take(share string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	left := r.all.TokensAt(now)
	if missing := 1 - left; missing > 0 {
		return time.Duration(missing / float64(r.all.Limit()) * float64(time.Second))
	}
	r.window.advance(now)
	if left < 1+float64(r.all.Burst())/2 && !r.window.admits(share, float64(r.all.Limit())) {
		return r.window.remaining(now)
	}
	reservation := r.of(share, now).ReserveN(now, 1)
	if after := reservation.DelayFrom(now); after > 0 {
		reservation.CancelAt(now)
		return after
	}
	r.all.AllowN(now, 1)
	r.window.taken[share]++
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
