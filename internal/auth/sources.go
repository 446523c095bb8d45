package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

const (
	// maxSources bounds the sources that are remembered; the one that was not heard for longest is forgotten, which
	// only the limit of all together outlives.
	maxSources = 16384
	// retryAfter is how long whoever is refused waits at least.
	retryAfter = time.Second
)

// sources bounds the reviews of tokens that prove nobody: anybody can make up as many as they like, and each one that
// is not known from before costs the upstream a question. Only a failure is charged, when it is known, so that many who
// come from one address with good tokens are not refused; until then a review under way holds its place, so that
// reviews at the same time are no way around. Tokens that were good lately pass: failures of others, from the same
// address or from many, keep nobody out who was there before.
type sources struct {
	limits FailureLimits
	mu     sync.Mutex // guards the rest
	total  *source
	each   *lru.Cache // netip.Prefix to *source
}

type source struct {
	failures *rate.Limiter
	underWay int
}

func newSources(limits FailureLimits) *sources {
	return &sources{
		limits: limits, total: &source{failures: rate.NewLimiter(limits.Total, limits.TotalBurst)}, each: lru.New(maxSources),
	}
}

// enter takes a place for a review, or returns a *BusyError. settle gives it back and charges a failure; it is to be
// called once.
func (s *sources) enter(address string) (settle func(failed bool), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, now := s.of(address), time.Now()
	for _, who := range [...]*source{from, s.total} {
		if after := who.wait(now); after > 0 {
			return nil, &BusyError{After: after}
		}
	}
	from.underWay++
	s.total.underWay++
	return func(failed bool) { s.leave(from, failed) }, nil
}

// pass is enter for a review that waits for no place and takes none.
func (s *sources) pass(address string) (settle func(failed bool)) {
	return func(failed bool) {
		if failed {
			s.charge(address)
		}
	}
}

// charge notes a failure that held no place; where there is no room for it, it costs nothing.
func (s *sources) charge(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, who := range [...]*source{s.of(address), s.total} {
		who.failures.AllowN(time.Now(), 1)
	}
}

func (s *sources) leave(from *source, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, who := range [...]*source{from, s.total} {
		who.underWay--
		if failed {
			who.failures.AllowN(time.Now(), 1) // there is room: who is under way holds it, but for charge
		}
	}
}

// wait is 0 if a review may begin, or when it may at the earliest.
func (s *source) wait(now time.Time) time.Duration {
	missing := 1 + float64(s.underWay) - s.failures.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(retryAfter, time.Duration(missing/float64(s.failures.Limit())*float64(time.Second)))
}

func (s *sources) of(address string) *source {
	key := sourceOf(address)
	if known, ok := s.each.Get(key); ok {
		return known.(*source)
	}
	made := &source{failures: rate.NewLimiter(s.limits.Source, s.limits.SourceBurst)}
	s.each.Add(key, made)
	return made
}

// sourceOf is an IPv4 address, or the 64 bits of an IPv6 address that a site has one of. Whatever has no address is one
// source.
func sourceOf(address string) netip.Prefix {
	from, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // these bits are never too many
	return prefix
}
