package limit

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how much may begin: as much as Burst at once, and PerSecond as time goes by. A PerSecond of 0 is any number;
// else Burst is above 0.
type Rate struct {
	PerSecond float64
	Burst     int
}

// mostRates is how many keys are remembered. Beyond them, whoever is not remembered shares one rate with all others who
// are not: a flood of keys slows down newcomers, and costs no memory.
const mostRates = 1 << 16

// Rates says whether something may begin now, by key. Safe for concurrent use.
type Rates struct {
	of Rate // each

	mu     sync.Mutex               // guards all below; held for arithmetic, and now and then to forget keys
	rest   *rate.Limiter            // of keys that are one too many to remember
	each   map[string]*rate.Limiter // of keys that took something lately
	forget time.Time                // when to look for idle keys again
}

// NewRates returns rates of which nothing was taken, of each key the same.
func NewRates(of Rate) *Rates {
	return &Rates{of: of, rest: newLimiter(of), each: map[string]*rate.Limiter{}}
}

func newLimiter(r Rate) *rate.Limiter {
	if r.PerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
}

// Take takes one of a key's rate if it has one; else it says after how long it may, which is above 0.
func (r *Rates) Take(key string) (after time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	own, known := r.each[key]
	if !known {
		own = r.newcomer(now)
	}
	if after := wait(own, now); after > 0 {
		return after, false
	}
	own.AllowN(now, 1)
	if !known && own != r.rest && own.Limit() != rate.Inf {
		r.each[key] = own
	}
	return 0, true
}

// newcomer is the rate of a key that is not remembered.
func (r *Rates) newcomer(now time.Time) *rate.Limiter {
	if !now.Before(r.forget) {
		r.forgetIdle(now)
	}
	if len(r.each) >= mostRates {
		return r.rest
	}
	return newLimiter(r.of)
}

// forgetIdle drops the keys whose rate is whole again, which is as if they had never come. It looks again when all that
// are left can be.
func (r *Rates) forgetIdle(now time.Time) {
	for key, own := range r.each {
		if own.TokensAt(now) >= float64(own.Burst()) {
			delete(r.each, key)
		}
	}
	refill := time.Second
	if r.of.PerSecond > 0 {
		refill = max(refill, seconds(float64(r.of.Burst)/r.of.PerSecond))
	}
	r.forget = now.Add(refill)
}

// wait is how long it takes until a rate has one to take; 0 when it has.
func wait(l *rate.Limiter, now time.Time) time.Duration {
	if l.Limit() == rate.Inf {
		return 0
	}
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(seconds(missing/float64(l.Limit())), 1)
}

func seconds(s float64) time.Duration {
	return time.Duration(math.Ceil(min(s, math.MaxInt32) * float64(time.Second)))
}
