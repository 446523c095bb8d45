package cache

import "sync/atomic"

// signal wakes everybody who waits on it, at the cost of one atomic swap when nobody does. To wait without losing a
// wake-up: take armed, then look whether there is already something to do, then wait.
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

// fired is what waiting returns when there is no need to wait.
var fired = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
