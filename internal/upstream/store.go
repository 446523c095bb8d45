package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/listfacade/listfacade/cache"
)

// store is an etcd as the facade knows it: the resources whose versions come from one counter, so that one probe tells the
// current resourceVersion of all of them. Which resources share one is found out by comparison (stores.compare).
type store struct {
	client  *Client
	metrics Metrics
	probes  *groupCommit[reading]

	mu        sync.Mutex // guards the rest
	founded   bool       // somebody is in it
	asked     *Resource  // whose collection the last probe read; nil before the first
	candidate *Resource  // whose the next one reads
	last      cache.RV   // the last answer
	broken    bool       // its answers contradict each other: they are not from one counter
}

// reading is the answer to a probe.
type reading struct {
	rv    cache.RV
	asked Resource
}

func newStore(client *Client, metrics Metrics, p *pace, start func(func(context.Context)) bool) *store {
	s := &store{client: client, metrics: metrics}
	s.probes = newGroupCommit(p, start, s.probe)
	return s
}

// current is the store's resourceVersion at some moment after the call began. The resource is one of the store's; probes go round
// among those that are read, so that a counter of its own would show.
func (s *store) current(ctx context.Context, resource *Resource) (reading, error) {
	s.propose(resource)
	return s.probes.get(ctx)
}

func (s *store) propose(resource *Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resource != nil && (s.candidate == nil || s.asked != nil && *s.candidate == *s.asked) {
		s.candidate = resource
	}
}

// probe reads the upstream's resourceVersion. It is never below what the upstream sent before the question.
func (s *store) probe(ctx context.Context) (reading, error) {
	s.mu.Lock()
	resource := s.candidate
	if resource == nil {
		resource = s.asked
	}
	s.candidate = nil
	s.mu.Unlock()
	if resource == nil {
		return reading{}, errNobody
	}
	s.metrics.Questioned("probe")
	version, err := s.client.ResourceVersion(ctx, *resource)
	if err != nil {
		return reading{asked: *resource}, fmt.Errorf("ask the upstream for its resourceVersion: %w", err)
	}
	rv, err := cache.ParseRV(version)
	if err != nil {
		return reading{asked: *resource}, fmt.Errorf("ask the upstream for its resourceVersion: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Of one resource, it means that the upstream was restored, which its lane finds out by itself.
	if s.asked != nil && *s.asked != *resource && rv < s.last {
		s.broken = true
	}
	s.asked, s.last = resource, rv
	return reading{rv: rv, asked: *resource}, nil
}

// doubt breaks the store up: its resources have to be compared anew.
func (s *store) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
}

func (s *store) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// found is true once.
func (s *store) found() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.founded
	s.founded = true
	return first
}

// errNobody says that no resource of a store was read yet.
var errNobody = errors.New("no resource of the store is known")
