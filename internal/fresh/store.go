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

// store is the set of resources in one etcd. Their versions come from one counter, so one probe returns the version of
// all of them. Comparisons find out which resources share a store (membership.compare).
type store struct {
	metrics Metrics
	probes  *groupCommit[reading]
	account *account
	// uncached is the resource to probe if possible; nil if there is none. For an uncached resource, kube-apiserver
	// answers as soon as etcd does. For other resources, it waits until its cache has reached etcd's version: up to 100 ms
	// if only other resources change (semantics 10.4).
	uncached Source
	// alone is set for the store of a single resource (membership.own).
	alone bool

	notBefore atomic.Pointer[time.Time] // no probe is sent before this time, because the upstream throttles

	mu             sync.Mutex // guards the rest
	founded        bool       // whether a first resource has joined
	asked          Source     // resource of the last probe; nil before the first
	candidate      Source     // resource of the next probe
	last           cache.RV   // last version that a probe returned
	broken         bool       // whether versions contradicted each other, so that they cannot be from one counter
	uncachedFailed bool       // whether the upstream does not support probes of the uncached source
}

type reading struct {
	rv    cache.RV
	asked Source
	store *store // store that was probed; nil if the probe failed
}

func newStore(metrics Metrics, size cache.RV, uncached Source, start func(func(context.Context)) bool) *store {
	s := &store{metrics: metrics, account: newAccount(size), uncached: uncached}
	s.probes = newGroupCommit(nil, start, s.probe)
	return s
}

func newOwnStore(metrics Metrics, start func(func(context.Context)) bool) *store {
	s := newStore(metrics, ownSize, nil, start)
	s.alone = true
	return s
}

// current returns the store's resourceVersion at some moment after the call began. source is one of the store's
// resources. Without an uncached resource, probes rotate among the resources that are read. The rotation reveals a
// resource with another counter.
//
// A throttled probe pauses the probes of the store. After the pause, all readers share one probe. If probes rotate,
// they are not paused: kube-apiserver throttles a single resource while it fills the cache of that resource.
func (s *store) current(ctx context.Context, source Source) (reading, error) {
	if err := s.paused(); err != nil {
		return reading{}, err
	}
	s.propose(source)
	return s.probes.get(ctx, requestPrice)
}

// propose makes a source the next to be probed, unless another source is already waiting and was not probed last.
func (s *store) propose(source Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source != nil && (s.candidate == nil || s.candidate == s.asked) {
		s.candidate = source
	}
}

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
	if rv < s.last { // the version is from another counter, or the upstream was restored, so the account is invalid
		s.broken = true
		s.account.reset()
	}
	s.asked, s.last = source, rv
	s.account.answered(rv, time.Now())
	return reading{rv: rv, asked: source, store: s}, nil
}

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

func (s *store) breakUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.account.reset()
}

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

// isFirst returns true for the first call only: the first resource joins without a comparison, because there is no
// other to compare it with. In a store with an uncached resource it always returns false.
func (s *store) isFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.founded && s.uncached == nil
	s.founded = true
	return first
}
