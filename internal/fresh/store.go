package fresh

import (
	"context"
	"fmt"
	"sync"
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

	mu        sync.Mutex // guards the rest
	founded   bool       // somebody is in it
	asked     Source     // what the last probe was sent to; nil before the first
	candidate Source     // what the next one is sent to, if it is time to ask another than the quickest
	quickest  quickest
	last      cache.RV // the last answer
	broken    bool     // its answers contradict each other: they are not from one counter
}

// quickest is the source that answered soonest. kube-apiserver answers for a resource when its cache of that resource
// has reached etcd's version: at once if the resource changes all the time or has no cache, but up to 100 ms later if
// only others change (semantics 10.4).
type quickest struct {
	source Source
	took   time.Duration
	round  time.Time // when another was asked last
}

// roundEvery is how long the quickest source alone is asked; then it is another's turn.
const roundEvery = time.Second

// reading is the answer to a probe.
type reading struct {
	rv    cache.RV
	asked Source
	store *store // whose versions these are
}

func newStore(metrics Metrics, start func(func(context.Context)) bool) *store {
	s := &store{metrics: metrics, account: newAccount()}
	s.probes = newGroupCommit(nil, start, s.probe)
	return s
}

// current is the store's resourceVersion at some moment after the call began. The source is of one of the store's
// resources. Mostly the quickest is asked; once a second probes go round among those that are read, so that a counter
// of its own would show, or a quicker source.
func (s *store) current(ctx context.Context, source Source) (reading, error) {
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
	source := s.next()
	if source == nil {
		return reading{}, errNoResource
	}
	s.metrics.Questioned("probe")
	began := time.Now()
	rv, err := source.ResourceVersion(ctx)
	if err != nil {
		s.fails(source)
		return reading{asked: source}, fmt.Errorf("ask the upstream for its resourceVersion: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timed(source, began)
	if rv < s.last { // another counter, or the upstream was restored: what is on the account is of another history
		s.broken = true
		s.account.reset()
	}
	s.asked, s.last = source, rv
	s.account.answered(rv, time.Now())
	return reading{rv: rv, asked: source, store: s}, nil
}

// fails makes a source that gave no answer be asked no more than the others.
func (s *store) fails(source Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quickest.source == source {
		s.quickest = quickest{}
	}
}

// timed takes note of how long a source took, with mu held. A question that another answers sooner is that one's from
// then on.
func (s *store) timed(source Source, began time.Time) {
	now := time.Now()
	took, q := now.Sub(began), &s.quickest
	switch {
	case source == q.source:
		q.took += (took - q.took) / 8
	case q.source == nil || took < q.took:
		*q = quickest{source: source, took: took, round: now}
	}
}

// next is what to probe now; nil when nothing is known.
func (s *store) next() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.quickest.source != nil && (s.candidate == nil || now.Sub(s.quickest.round) < roundEvery) {
		return s.quickest.source
	}
	source := s.candidate
	if source == nil {
		source = s.asked
	}
	s.candidate, s.quickest.round = nil, now
	return source
}

// breakUp makes the resources of the store be compared anew.
func (s *store) breakUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

func (s *store) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// isFirst is true once: for the first resource, which there is nothing to compare with.
func (s *store) isFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.founded
	s.founded = true
	return first
}
