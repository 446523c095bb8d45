package handlers

import "github.com/listfacade/listfacade/internal/observe"

// Live is told of requests while they are under way, where a Sink is told when they are over. It is safe for concurrent
// use, and must not keep an Event.
type Live interface {
	// Entered tells of a request that was let in, Left that it is over; its Event says what it is about.
	Entered(e *observe.Event)
	Left(e *observe.Event)
	// Watch counts what a watch is sent that the cache answers; nil counts nothing.
	Watch(e *observe.Event) *observe.WatchMeter
	// Checked tells what a check of health said to a probe.
	Checked(check, probe string, err error)
}

// entered tells that a request was let in.
func (s *Server) entered(out *reply) {
	out.entered = true
	s.live.Entered(out.event)
}

// left tells that it is over, if it was let in.
func (s *Server) left(out *reply) {
	if out.entered {
		s.live.Left(out.event)
	}
}

// nobody is a Live that keeps nothing.
type nobody struct{}

// Entered implements Live.
func (nobody) Entered(*observe.Event) {}

// Left implements Live.
func (nobody) Left(*observe.Event) {}

// Watch implements Live.
func (nobody) Watch(*observe.Event) *observe.WatchMeter { return nil }

// Checked implements Live.
func (nobody) Checked(string, string, error) {}
