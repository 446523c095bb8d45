package observe

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// calls counts the calls of the methods of an Observer.
type calls struct {
	Ignore
	all []string
	err error
}

func (c *calls) Began(*Event)          { c.all = append(c.all, "began") }
func (c *calls) Received(*Event) error { c.all = append(c.all, "received"); return c.err }
func (c *calls) Admitted(*Event)       { c.all = append(c.all, "admitted") }
func (c *calls) Answering(*Event)      { c.all = append(c.all, "answering") }
func (c *calls) Lagging(*Event, Lag)   { c.all = append(c.all, "lagging") }
func (c *calls) Done(*Event)           { c.all = append(c.all, "done") }

// Each of several observers receives every stage, and can refuse a request. Ignore refuses no request.
func TestEveryObserverReceivesEveryStage(t *testing.T) {
	first, second := &calls{}, &calls{err: errors.New("no")}
	observers, e := Observers{first, Ignore{}, second, Ignore{}}, &Event{}
	observers.Began(e)
	err := observers.Received(e)
	observers.Admitted(e)
	observers.Answering(e)
	observers.Lagging(e, Lag{})
	observers.Done(e)
	want := []string{"began", "received", "admitted", "answering", "lagging", "done"}
	if !errors.Is(err, second.err) || !slices.Equal(first.all, want) || !slices.Equal(second.all, want) {
		t.Errorf("got %v, and calls %q and %q, want %q", err, first.all, second.all, want)
	}
}

// The time of encoding does not include the time that the client takes to accept bytes.
func TestEncoded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var e Event
		e.Waits[Writing] = 3 * time.Second
		e.Encoded(time.Now().Add(-time.Hour), time.Second)
		if got := e.Waits[Encoding]; got != time.Hour-2*time.Second {
			t.Errorf("got %s of encoding", got)
		}
	})
}

// A request may wait in the same step several times.
func TestWaitedAddsUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var e Event
		e.Waited(Proving, time.Now().Add(-time.Hour))
		e.Waited(Proving, time.Now().Add(-time.Hour))
		if got := e.Waits[Proving]; got != 2*time.Hour {
			t.Errorf("waited %s", got)
		}
	})
}
