package simulated

import (
	"slices"
	"sync"
	"time"
)

// store contains the states of all pods that have changed, and the events of the changes. It is safe for concurrent
// use.
type store struct {
	mu      sync.Mutex // guards all below
	version uint64
	changes map[int][]state // states of each changed pod, the newest last
	events  []event
	changed chan struct{} // closed and replaced by every event
}

// event is a change of one pod.
type event struct {
	pod   int
	state state
}

func newStore(pods int) *store {
	return &store{version: firstVersion + uint64(pods), changes: map[int][]state{}, changed: make(chan struct{})}
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
	changed := state{version: s.version, stamp: time.Now().UnixNano()}
	s.changes[pod] = append(s.changes[pod], changed)
	s.events = append(s.events, event{pod: pod, state: changed})
	close(s.changed)
	s.changed = make(chan struct{})
}

// states returns the current states of a range of pods, and the current version. from is the number of the first pod,
// to-1 that of the last one.
func (s *store) states(from, to int) ([]state, uint64) {
	all := make([]state, to-from)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		all[i] = s.at(from+i, s.version)
	}
	return all, s.version
}

// stateAt returns the state of a pod at a version, which is at least firstVersion plus the number of pods.
func (s *store) stateAt(pod int, version uint64) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(pod, version)
}

// at does the work of stateAt. The caller holds mu.
func (s *store) at(pod int, version uint64) state {
	for _, changed := range slices.Backward(s.changes[pod]) {
		if changed.version <= version {
			return changed
		}
	}
	return state{version: firstVersion + uint64(pod)}
}

// after returns the events after a version, and a channel that is closed with the next event.
func (s *store) after(version uint64) ([]event, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.events) - int(min(uint64(len(s.events)), s.version-min(version, s.version)))
	return s.events[first:], s.changed
}
