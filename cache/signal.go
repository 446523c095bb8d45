package cache

import "sync/atomic"

// signal wakes all goroutines that wait on it. Firing costs one atomic swap when no goroutine waits. To wait without
// missing a wake-up, call armed, then check for work, then wait.
type signal struct {
	waiting atomic.Pointer[chan struct{}]
}

// armed returns a channel that the next fire closes.
func (s *signal) armed() <-chan struct{} {
	if c := s.waiting.Load(); c != nil {
		return *c
	}
	c := make(chan struct{})
	for !s.waiting.CompareAndSwap(nil, &c) {
		if other := s.waiting.Load(); other != nil {
			return *other
		}
	}
	return c
}

func (s *signal) fire() {
	if c := s.waiting.Swap(nil); c != nil {
		close(*c)
	}
}

// fired is a closed channel, for callers that need not wait.
var fired = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
