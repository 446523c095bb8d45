package limit

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a token bucket: PerSecond tokens are added per second, up to Burst. A PerSecond of 0 is unlimited; otherwise
// Burst must be above 0.
type Rate struct {
	PerSecond float64
	Burst     int
}

// maxKeys is the maximum number of keys with a limiter of their own. All further keys share one limiter: a flood of new
// keys then slows down other new keys, but uses no more memory.
const maxKeys = 1 << 16

// Rates bounds how often each key starts work. It never queues. Safe for concurrent use.
type Rates struct {
	perKey Rate

	mu          sync.Mutex               // guards the fields below; held for arithmetic and the cleanup of idle keys
	shared      *rate.Limiter            // limiter of all keys beyond maxKeys
	limiters    map[string]*rate.Limiter // limiters of recently active keys
	nextCleanup time.Time                // next time to drop idle keys
}

// NewRates returns Rates that allow each key the same rate, with full buckets.
func NewRates(perKey Rate) *Rates {
	return &Rates{perKey: perKey, shared: newLimiter(perKey), limiters: map[string]*rate.Limiter{}}
}

func newLimiter(r Rate) *rate.Limiter {
	if r.PerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
}

// Take takes one token of the key. ok reports whether there was one. If not, after is the time until the next token,
// which is above 0.
func (r *Rates) Take(key string) (after time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	limiter, known := r.limiters[key]
	if !known {
		limiter = r.limiterForNewKey(now)
	}
	if after := wait(limiter, now); after > 0 {
		return after, false
	}
	limiter.AllowN(now, 1)
	if !known && limiter != r.shared && limiter.Limit() != rate.Inf {
		r.limiters[key] = limiter
	}
	return 0, true
}

// limiterForNewKey returns the limiter of a key that has none yet. The caller holds mu.
func (r *Rates) limiterForNewKey(now time.Time) *rate.Limiter {
	if !now.Before(r.nextCleanup) {
		r.dropIdle(now)
	}
	if len(r.limiters) >= maxKeys {
		return r.shared
	}
	return newLimiter(r.perKey)
}

// dropIdle drops the keys whose bucket is full, because a new limiter behaves the same.
func (r *Rates) dropIdle(now time.Time) {
	for key, limiter := range r.limiters {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(r.limiters, key)
		}
	}
	refill := time.Second
	if r.perKey.PerSecond > 0 {
		refill = max(refill, seconds(float64(r.perKey.Burst)/r.perKey.PerSecond))
	}
	r.nextCleanup = now.Add(refill)
}

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
