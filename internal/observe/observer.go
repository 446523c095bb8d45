package observe

import "time"

// Observer receives the Event of a request at each stage of its life. Its methods must be safe for concurrent use, and
// must not keep the Event after Done. Began and Done are called for every request; a refused request may skip other
// stages. An implementation embeds Ignore for the stages that it does not need.
type Observer interface {
	// Began is called before any work for the request. The Event describes the connection and the URL.
	Began(e *Event)
	// Received is called after authentication. An error rejects the request.
	Received(e *Event) error
	// Admitted is called after the limits that precede authorization. The Event describes the request.
	Admitted(e *Event)
	// Answering is called when the response to a long-running request begins.
	Answering(e *Event)
	// Lagging is called repeatedly while a watch lags behind. Another goroutine calls it, because the goroutine of the
	// request then waits for its client.
	Lagging(e *Event, by Lag)
	// Done is called when the request has ended. The Event is complete.
	Done(e *Event)
}

// Lag is the distance of a watch from its lane.
type Lag struct {
	For    time.Duration // time for which the client has not accepted all events
	Sent   int           // events sent, bookmarks included; the client has possibly not received the last ones
	SentRV uint64        // resourceVersion up to which all events are sent; 0 while unknown
	LaneRV uint64
	// Initial reports whether the initial events are still being sent.
	Initial bool
}

// Ignore is an Observer that does nothing.
type Ignore struct{}

// Began implements Observer.
func (Ignore) Began(*Event) {}

// Received implements Observer.
func (Ignore) Received(*Event) error { return nil }

// Admitted implements Observer.
func (Ignore) Admitted(*Event) {}

// Answering implements Observer.
func (Ignore) Answering(*Event) {}

// Lagging implements Observer.
func (Ignore) Lagging(*Event, Lag) {}

// Done implements Observer.
func (Ignore) Done(*Event) {}

// Observers passes Events to several Observers, one after the other.
type Observers []Observer

// Began implements Observer.
func (o Observers) Began(e *Event) {
	for _, observer := range o {
		observer.Began(e)
	}
}

// Received implements Observer. It calls every Observer and returns the first error.
func (o Observers) Received(e *Event) (err error) {
	for _, observer := range o {
		if refused := observer.Received(e); err == nil {
			err = refused
		}
	}
	return err
}

// Admitted implements Observer.
func (o Observers) Admitted(e *Event) {
	for _, observer := range o {
		observer.Admitted(e)
	}
}

// Answering implements Observer.
func (o Observers) Answering(e *Event) {
	for _, observer := range o {
		observer.Answering(e)
	}
}

// Lagging implements Observer.
func (o Observers) Lagging(e *Event, by Lag) {
	for _, observer := range o {
		observer.Lagging(e, by)
	}
}

// Done implements Observer.
func (o Observers) Done(e *Event) {
	for _, observer := range o {
		observer.Done(e)
	}
}
