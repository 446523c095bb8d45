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

// store is an etcd as the facade knows it: the resources whose versions come from one counter, so that one probe tells
// the current resourceVersion of all of them. Which resources share one is found out by comparison
// (membership.compare).
type store struct {
	metrics Metrics
	probes  *groupCommit[reading]
	account *account
	// uncached is what is probed if it can be: kube-apiserver answers for a resource that it has no cache of as soon as
	// etcd does. For any other it waits until its cache is where etcd is, up to 100 ms if only others change (semantics
	// 10.4). nil when there is none.
	uncached Source
	// alone: it is of one resource, which nobody shares it with.
	alone bool

	notBefore atomic.Pointer[time.Time] // until when it is not asked, because the upstream has sent a question away

	mu        sync.Mutex // guards the rest
	founded   bool       // somebody is in it
	asked     Source     // what the last probe was sent to; nil before the first
	candidate Source     // what the next one is sent to
	last      cache.RV   // the last answer
	broken    bool       // its answers contradict each other: they are not from one counter
	deserted  bool       // the uncached source gives no answer
}

// reading is the answer to a probe.
type reading struct {
	rv    cache.RV
	asked Source
	store *store // whose versions these are
}

func newStore(metrics Metrics, size cache.RV, uncached Source, start func(func(context.Context)) bool) *store {
	s := &store{metrics: metrics, account: newAccount(size), uncached: uncached}
	s.probes = newGroupCommit(nil, start, s.probe)
	return s
}

// newOwnStore makes the store of one resource.
func newOwnStore(metrics Metrics, start func(func(context.Context)) bool) *store {
	s := newStore(metrics, ownSize, nil, start)
	s.alone = true
	return s
}

// current is the store's resourceVersion at some moment after the call began. The source is of one of the store's
// resources. Without an uncached one probes go round among those that are read, so that a counter of its own would
// show. An upstream that throttles is left alone for as long as it wants: then one probe finds out whether it answers
// again, and whoever comes meanwhile waits for that one. Where probes go round nobody is kept from probing another
// resource, as one may be throttled alone while its watch cache is built.
func (s *store) current(ctx context.Context, source Source) (reading, error) {
	if err := s.paused(); err != nil {
		return reading{}, err
	}
	s.propose(source)
	return s.probes.get(ctx, requestPrice)
}

// propose makes a source the next to be probed, unless another is waiting for that which was not probed last.
func (s *store) propose(source Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source != nil && (s.candidate == nil || s.candidate == s.asked) {
		s.candidate = source
	}
}

// probe reads the upstream's resourceVersion.
func (s *store) probe(ctx context.Context, _ party) (reading, error) {
	if err := s.paused(); err != nil { // by the probe before this one
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
			s.desert()
		}
		var throttled *ThrottledError
		if errors.As(err, &throttled) && (s.alone || source == s.uncached) {
			s.pause(throttled.After)
		}
		return reading{asked: source}, fmt.Errorf("ask the upstream for its resourceVersion: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv < s.last { // another counter, or the upstream was restored: what is on the account is of another history
		s.broken = true
		s.account.reset()
	}
	s.asked, s.last = source, rv
	s.account.answered(rv, time.Now())
	return reading{rv: rv, asked: source, store: s}, nil
}

// next is what to probe now; nil when nothing is known.
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

// breakUp makes the resources of the store be compared anew.
func (s *store) breakUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.account.reset()
}

// desert breaks a store up whose uncached source gives no answer.
func (s *store) desert() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.deserted = true, true
	s.account.reset()
}

func (s *store) isDeserted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deserted
}

func (s *store) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// isFirst is true once: for the first resource, which there is nothing to compare with. An uncached one is there from
// the start.
func (s *store) isFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.founded && s.uncached == nil
	s.founded = true
	return first
}
