package handlers

import "github.com/listfacade/listfacade/internal/observe"

// Live receives requests while they are in flight. A Sink receives them at their end. An implementation must be safe
// for concurrent use and must not keep an Event.
type Live interface {
	// Entered is called when a request has passed the first limits, and Left at its end. The Event describes the
	// request.
	Entered(e *observe.Event)
	Left(e *observe.Event)
	// Watch returns the meter of a watch that the cache serves; nil counts nothing.
	Watch(e *observe.Event) *observe.WatchMeter
	// Checked receives the result of a health check in a probe.
	Checked(check, probe string, err error)
}

// entered notifies Live of a request.
func (s *Server) entered(out *reply) {
	out.entered = true
	s.live.Entered(out.event)
}

// left notifies Live of the end of a request, if Live was notified of the request.
func (s *Server) left(out *reply) {
	if out.entered {
		s.live.Left(out.event)
	}
}

// discardLive is a Live that ignores everything.
type discardLive struct{}

// Entered implements Live.
func (discardLive) Entered(*observe.Event) {}

// Left implements Live.
func (discardLive) Left(*observe.Event) {}

// Watch implements Live.
func (discardLive) Watch(*observe.Event) *observe.WatchMeter { return nil }

// Checked implements Live.
func (discardLive) Checked(string, string, error) {}
