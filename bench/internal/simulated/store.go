package simulated

import (
	"sync"
	"time"
)

// store is the state of all pods that have changed. Safe for concurrent use.
type store struct {
	mu      sync.Mutex // guards all below
	version uint64
	changes map[int]state
	events  []event
	changed chan struct{} // closed and replaced by every event
}

// event is a change of one pod.
type event struct {
	pod   int
	state state
}

func newStore(pods int) *store {
	return &store{version: firstVersion + uint64(pods), changes: map[int]state{}, changed: make(chan struct{})}
}

// now returns the current resourceVersion.
func (s *store) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// update changes a pod.
func (s *store) update(pod int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.changes[pod] = state{version: s.version, stamp: time.Now().UnixNano()}
	s.events = append(s.events, event{pod: pod, state: s.changes[pod]})
	close(s.changed)
	s.changed = make(chan struct{})
}

// states returns the states of the pods from one number up to another, and the current version.
func (s *store) states(from, to int) ([]state, uint64) {
	all := make([]state, to-from)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		all[i] = state{version: firstVersion + uint64(from+i)}
		if changed, ok := s.changes[from+i]; ok {
			all[i] = changed
		}
	}
	return all, s.version
}

// after returns the events after a version, and a channel that is closed with the next event.
func (s *store) after(version uint64) ([]event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.events) - int(min(uint64(len(s.events)), s.version-min(version, s.version)))
	return s.events[first:], s.changed
}
