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
	// maxSources bounds the sources that are remembered; the one that was not heard for longest is forgotten, which
	// only the budgets of all together outlive.
	maxSources = 16384
	// retryAfter is how long whoever is refused waits at least.
	retryAfter = time.Second
	// failureCounts is for how long after a failure a source is not clean.
	failureCounts = time.Minute
)

// sources bounds the reviews of tokens that prove nobody: anybody can make up as many as they like, and each one that
// is not known from before costs the upstream a question. Only a failure is charged, when it is known, so that many
// callers with good tokens that come from one address are not refused; until then a review under way holds its place,
// so that reviews at the same time are no way around.
//
// A source that is out of its own failures is refused at once. What all sources may fail together is split into two
// equal budgets, for each of which sources take turns. One is for the first review of a source that has not failed
// lately. The other is for everything else. So sources that fail wait for one another, however many they are.
type sources struct {
	limits      FailureLimits
	clean, rest *failureBudget

	mu   sync.Mutex // guards what follows
	each *lru.Cache // netip.Prefix to *source
}

// source is what is known of where tokens come from. It is guarded by sources.mu.
type source struct {
	failures *rate.Limiter
	underWay int       // reviews, those that wait for a turn included
	failed   time.Time // when one of its tokens last proved nobody
}

func newSources(limits FailureLimits) *sources {
	half, burst := limits.Total/2, max(1, limits.TotalBurst/2)
	return &sources{
		limits: limits, clean: newFailureBudget(half, burst), rest: newFailureBudget(half, burst), each: lru.New(maxSources),
	}
}

// entry is one review of a source, from when it is let in until it is settled.
type entry struct {
	sources *sources
	address netip.Prefix
	from    *source
	budget  *failureBudget // nil when it waits for no turn, and holds no place of the source
	settled func(failed bool)
}

// enter lets a review in, or returns a *BusyError when its source is out of failures.
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

// pass lets a review in that waits for no place and takes none.
func (s *sources) pass(address netip.Prefix) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &entry{sources: s, address: address, from: s.of(address)}
}

// wait waits until it is the review's turn. It returns a *BusyError when that does not come in time, which settles the
// entry.
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

// settle gives the places of a review back, and charges a failure. It is called once.
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
		e.from.failures.AllowN(e.from.failed, 1) // where there is no room for it, it costs nothing: only pass has none
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

func (s *sources) of(address netip.Prefix) *source {
	if known, ok := s.each.Get(address); ok {
		return known.(*source)
	}
	made := &source{failures: rate.NewLimiter(s.limits.Source, s.limits.SourceBurst)}
	s.each.Add(address, made)
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

// priorityOf groups sources by the network that one party usually has at most: 24 bits of IPv4, 48 of IPv6.
func priorityOf(source netip.Prefix) limit.Key {
	bits := 48
	if source.Addr().Is4() {
		bits = 24
	}
	network, _ := source.Addr().Prefix(bits) // these bits are never too many
	return limit.Key{Group: network.String(), One: source.String()}
}
