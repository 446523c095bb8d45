package observe

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// sinkFunc is a Sink.
type sinkFunc func(*Event)

// Done implements Sink.
func (f sinkFunc) Done(e *Event) { f(e) }

// Every sink is told of every request.
func TestSinks(t *testing.T) {
	told := map[string]string{}
	sinks := Sinks{
		sinkFunc(func(e *Event) { told["one"] = e.AuditID }), sinkFunc(func(e *Event) { told["two"] = e.AuditID }),
	}
	sinks.Done(&Event{AuditID: "x"})
	if told["one"] != "x" || told["two"] != "x" {
		t.Errorf("told: %v", told)
	}
}

// Followers among the sinks are told of requests on their way, and any of them can refuse one.
func TestFollowers(t *testing.T) {
	first, second := &follower{}, &follower{err: errors.New("no")}
	sinks := Sinks{first, sinkFunc(func(*Event) {}), second}
	err := sinks.Received(&Event{})
	sinks.Answering(&Event{})
	sinks.Lagging(&Event{}, Lag{})
	if !errors.Is(err, second.err) || first.told != 3 || second.told != 3 {
		t.Errorf("%v, %d and %d", err, first.told, second.told)
	}
}

// follower is a Follower that counts.
type follower struct {
	told int
	err  error
}

func (f *follower) Done(*Event)           {}
func (f *follower) Received(*Event) error { f.told++; return f.err }
func (f *follower) Answering(*Event)      { f.told++ }
func (f *follower) Lagging(*Event, Lag)   { f.told++ }

// What bytes took to make is what is left of the time when the client's part is taken off.
func TestEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Event
		e.Waits[Writing] = 3 * time.Second
		e.Encoded(time.Now().Add(-time.Hour), time.Second)
		if got := e.Waits[Encoding]; got != time.Hour-2*time.Second {
			t.Errorf("encoding took %s", got)
		}
	})
}

// A step may be waited for more than once.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Event
		e.Waited(Proving, time.Now().Add(-time.Hour))
		e.Waited(Proving, time.Now().Add(-time.Hour))
		if got := e.Waits[Proving]; got != 2*time.Hour {
			t.Errorf("waited %s", got)
		}
	})
}

// The log names the waits that there were, and is silent above its level.
func TestRequestLog(t *testing.T) {
	e := &Event{AuditID: "x", Source: FromUpstream, Reason: Unproven}
	e.Waits[Asking] = time.Second
	core, logs := observer.New(zap.DebugLevel)
	NewRequestLog(zap.New(core)).Done(e)
	if logs.Len() != 1 {
		t.Fatalf("%d lines", logs.Len())
	}
	fields := logs.All()[0].ContextMap()
	if fields["auditID"] != "x" || fields["reason"] != "unproven" || fields["asking"] != time.Second || fields["proving"] != nil {
		t.Errorf("%v", fields)
	}
	core, logs = observer.New(zap.InfoLevel)
	NewRequestLog(zap.New(core)).Done(e)
	if logs.Len() != 0 {
		t.Errorf("%v", logs.All())
	}
}
