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

// Every sink receives every request.
func TestSinksReceiveEveryRequest(t *testing.T) {
	calls := map[string]string{}
	sinks := Sinks{
		sinkFunc(func(e *Event) { calls["one"] = e.AuditID }), sinkFunc(func(e *Event) { calls["two"] = e.AuditID }),
	}
	sinks.Done(&Event{AuditID: "x"})
	if calls["one"] != "x" || calls["two"] != "x" {
		t.Errorf("got calls %v", calls)
	}
}

// Followers among the sinks receive requests in flight, and each of them can refuse a request.
func TestFollowersCanRefuse(t *testing.T) {
	first, second := &follower{}, &follower{err: errors.New("no")}
	sinks := Sinks{first, sinkFunc(func(*Event) {}), second}
	err := sinks.Received(&Event{})
	sinks.Answering(&Event{})
	sinks.Lagging(&Event{}, Lag{})
	if !errors.Is(err, second.err) || first.calls != 3 || second.calls != 3 {
		t.Errorf("got %v, and %d and %d calls", err, first.calls, second.calls)
	}
}

// follower counts the calls of its methods.
type follower struct {
	calls int
	err   error
}

func (f *follower) Done(*Event)           {}
func (f *follower) Received(*Event) error { f.calls++; return f.err }
func (f *follower) Answering(*Event)      { f.calls++ }
func (f *follower) Lagging(*Event, Lag)   { f.calls++ }

// The time of encoding does not include the time that the client takes to accept bytes.
func TestEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
		var e Event
		e.Waited(Proving, time.Now().Add(-time.Hour))
		e.Waited(Proving, time.Now().Add(-time.Hour))
		if got := e.Waits[Proving]; got != 2*time.Hour {
			t.Errorf("waited %s", got)
		}
	})
}

// The log contains the steps that took time, and nothing above its level.
func TestRequestLog(t *testing.T) {
	e := &Event{AuditID: "x", Source: FromUpstream, Reason: Unproven}
	e.Waits[Asking] = time.Second
	core, logs := observer.New(zap.DebugLevel)
	NewRequestLog(zap.New(core)).Done(e)
	if logs.Len() != 1 {
		t.Fatalf("got %d lines", logs.Len())
	}
	fields := logs.All()[0].ContextMap()
	if fields["auditID"] != "x" || fields["reason"] != "unproven" || fields["asking"] != time.Second || fields["checking"] != nil {
		t.Errorf("got %v", fields)
	}
	core, logs = observer.New(zap.InfoLevel)
	NewRequestLog(zap.New(core)).Done(e)
	if logs.Len() != 0 {
		t.Errorf("got %v", logs.All())
	}
}
