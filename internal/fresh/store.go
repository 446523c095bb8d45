package fresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// store is one etcd: the resources whose versions come from one counter, so that one probe returns the version of all
// of them. Comparisons find out which resources share a store (membership.compare).
type store struct {
	metrics Metrics
	probes  *groupCommit[reading]
	account *account
	// Resource to probe if possible. For an uncached resource kube-apiserver answers as soon as etcd does. For any other
	// it waits until its cache has reached etcd's version. That takes up to 100 ms if only other resources change
	// (semantics 10.4). nil if there is none.
	uncached Source
	// Whether the store is of one resource that shares it with no other.
	alone bool

	notBefore atomic.Pointer[time.Time] // time until which no probe is sent, because the upstream throttles

	mu             sync.Mutex // guards the rest
	founded        bool       // whether a first resource has joined
	asked          Source     // resource of the last probe; nil before the first
	candidate      Source     // resource of the next probe
	last           cache.RV   // last version returned
	broken         bool       // whether versions contradicted each other, so they are not from one counter
	uncachedFailed bool       // whether the upstream does not answer for the uncached source
}

// reading is the result of a probe.
type reading struct {
	rv    cache.RV
	asked Source
	store *store // store of the version
}

func newStore(metrics Metrics, size cache.RV, uncached Source, start func(func(context.Context)) bool) *store {
	s := &store{metrics: metrics, account: newAccount(size), uncached: uncached}
	s.probes = newGroupCommit(nil, start, s.probe)
	return s
}

// newOwnStore returns the store of a single resource.
func newOwnStore(metrics Metrics, start func(func(context.Context)) bool) *store {
	s := newStore(metrics, ownSize, nil, start)
	s.alone = true
	return s
}

// current returns the store's resourceVersion at some moment after the call began. source is one of the store's
// resources. Without an uncached resource, probes rotate among the resources that are read, which reveals a resource
// with another counter.
//
// While an upstream throttles, no probe is sent. After the pause one probe finds out whether it answers again, and all
// readers share it. When probes rotate, throttling stops no other probe: kube-apiserver may throttle a single resource
// while it fills that watch cache.
func (s *store) current(ctx context.Context, source Source) (reading, error) {
	if err := s.paused(); err != nil {
		return reading{}, err
	}
	s.propose(source)
	return s.probes.get(ctx, requestPrice)
}

// propose makes a source the next one to be probed, unless a source other than the last one is already waiting.
func (s *store) propose(source Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source != nil && (s.candidate == nil || s.candidate == s.asked) {
		s.candidate = source
	}
}

// probe reads the upstream's resourceVersion.
func (s *store) probe(ctx context.Context, _ waiters) (reading, error) {
	if err := s.paused(); err != nil { // the previous probe was throttled
		return reading{}, err
	}
	source := s.next()
	if source == nil {
		return reading{}, errNoResource
	}
	s.metrics.Questioned("probe")
	rv, err := source.ResourceVersion(ctx)
	if err != nil {
		if source == s.uncached && errors.Is(err, ErrUnsupported) {
			s.failUncached()
		}
		var throttled *ThrottledError
		if errors.As(err, &throttled) && (s.alone || source == s.uncached) {
			s.pause(throttled.After)
		}
		return reading{asked: source}, fmt.Errorf("read the upstream's resourceVersion: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv < s.last { // another counter, or a restored upstream: the account is of another history
		s.broken = true
		s.account.reset()
	}
	s.asked, s.last = source, rv
	s.account.answered(rv, time.Now())
	return reading{rv: rv, asked: source, store: s}, nil
}

// next returns the source to probe now, or nil if there is none.
func (s *store) next() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uncached != nil {
		return s.uncached
	}
	source := s.candidate
	if source == nil {
		source = s.asked
	}
	s.candidate = nil
	return source
}

// breakUp marks the store as broken, so that its resources are compared again.
func (s *store) breakUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.account.reset()
}

// failUncached breaks up the store because the upstream does not answer for its uncached source.
func (s *store) failUncached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.uncachedFailed = true, true
	s.account.reset()
}

func (s *store) hasUncachedFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uncachedFailed
}

func (s *store) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// isFirst returns true once, for the first resource: there is no other to compare it with. It never does in a store
// with an uncached resource.
func (s *store) isFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.founded && s.uncached == nil
	s.founded = true
	return first
}
