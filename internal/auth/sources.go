package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// maxSources is the maximum number of tracked sources. Above it, the least recently used source is dropped. The total
	// budgets still bound its failures.
	maxSources = 16384
	// retryAfter is the minimum delay before a retry, as stated in the response to a refused request.
	retryAfter = time.Second
	// failureCounts is the time after a failure during which a source counts as failing.
	failureCounts = time.Minute
)

// sources bounds the reviews of invalid tokens. Anyone can invent tokens, and each unknown token costs the upstream a
// review. Only failures are charged, so many callers with valid tokens can share an address. A review under way counts
// as a failure until it ends, so that concurrent reviews cannot exceed the limit.
//
// A source that has used up its failures is refused immediately. The failures of all sources are bounded by two equal
// budgets, and sources take turns in each budget. One budget is for the first review of a source without recent
// failures, the other for all other reviews. The first review of a source therefore does not wait for failing sources.
type sources struct {
	limits      FailureLimits
	clean, rest *failureBudget

	mu   sync.Mutex // guards each, and all source values
	each *lru.Cache // netip.Prefix to *source
}

// source is the state of one source of tokens. It is guarded by sources.mu.
type source struct {
	failures *rate.Limiter
	underWay int       // reviews under way, including those that wait for a seat
	failed   time.Time // time of the last invalid token
}

func newSources(limits FailureLimits) *sources {
	half, burst := limits.Total/2, max(1, limits.TotalBurst/2)
	return &sources{
		limits: limits, clean: newFailureBudget(half, burst), rest: newFailureBudget(half, burst), each: lru.New(maxSources),
	}
}

// entry is one review of a source, from its admission until it is settled.
type entry struct {
	sources *sources
	address netip.Prefix
	from    *source
	budget  *failureBudget // nil for a review admitted by sources.pass
	settled func(failed bool)
}

// enter admits a review, or returns a *BusyError if its source has used up its failures.
func (s *sources) enter(address netip.Prefix) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, now := s.of(address), time.Now()
	if after := from.wait(now); after > 0 {
		return nil, &BusyError{After: after}
	}
	budget := s.rest
	if from.underWay == 0 && (from.failed.IsZero() || now.Sub(from.failed) > failureCounts) {
		budget = s.clean
	}
	from.underWay++
	return &entry{sources: s, address: address, from: from, budget: budget}, nil
}

// usedUp reports whether a source has used up its failures, not counting reviews under way.
func (s *sources) usedUp(address netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.each.Get(address)
	return ok && known.(*source).failures.Tokens() < 1
}

// pass admits a review that takes no seat of a failure budget.
func (s *sources) pass(address netip.Prefix) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &entry{sources: s, address: address, from: s.of(address)}
}

// wait waits for a seat. If it gets none within seatWait, it settles the entry and returns a *BusyError.
func (e *entry) wait(ctx context.Context) error {
	if e.budget == nil {
		return nil
	}
	settled, err := e.budget.take(ctx, priorityOf(e.address))
	if err != nil {
		e.settle(false)
		return &BusyError{After: retryAfter}
	}
	e.settled = settled
	return nil
}

// settle returns the seat of a review, and charges the source if the token was invalid. It must be called once.
func (e *entry) settle(failed bool) {
	if e.settled != nil {
		e.settled(failed)
	}
	e.sources.mu.Lock()
	defer e.sources.mu.Unlock()
	if e.budget != nil {
		e.from.underWay--
	}
	if failed {
		e.from.failed = time.Now()
		e.from.failures.AllowN(e.from.failed, 1) // no effect on an empty bucket, which is possible after sources.pass
	}
}

func (s *source) wait(now time.Time) time.Duration {
	missing := 1 + float64(s.underWay) - s.failures.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(retryAfter, time.Duration(missing/float64(s.failures.Limit())*float64(time.Second)))
}

func (s *sources) of(address netip.Prefix) *source {
	if known, ok := s.each.Get(address); ok {
		return known.(*source)
	}
	made := &source{failures: rate.NewLimiter(s.limits.Source, s.limits.SourceBurst)}
	s.each.Add(address, made)
	return made
}

// SourceOf returns the queue key of a remote address. It consists of the source and its network.
func SourceOf(address string) limit.Key { return priorityOf(sourceOf(address)) }

// sourceOf returns the source of a remote address: an IPv4 address, or a /64 prefix of IPv6, which is one site. All
// remote addresses without an IP address are one source.
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
	prefix, _ := ip.Prefix(bits) // cannot fail: the address has more bits than the prefix
	return prefix
}

// priorityOf returns the queue key of a source. Its group is the largest network that one party usually controls: a /24
// prefix of IPv4, or a /48 prefix of IPv6.
func priorityOf(source netip.Prefix) limit.Key {
	bits := 48
	if source.Addr().Is4() {
		bits = 24
	}
	network, _ := source.Addr().Prefix(bits) // cannot fail: the address has more bits than the prefix
	return limit.Key{Group: network.String(), One: source.String()}
}
