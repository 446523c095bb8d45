package oplog

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A slow request is logged once, with its caller, source and cost. A fast one is not logged.
func TestSlowRequestIsLogged(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	slow := NewSlowLog(zap.New(core), SlowLimits{Request: 500 * time.Millisecond})
	e := &observe.Event{
		AuditID: "x", User: "alice", UserAgent: strings.Repeat("u", 1<<20), Client: "10.0.0.1:4711", Verb: "list", URI: "/api/v1/pods?limit=5",
		Group: "apps", Resource: "deployments", Scope: "cluster", Plan: "MostRecent", Source: observe.FromCache, Looked: 7, Returned: 5,
		RawBytes: 100, Bytes: 10, Encoding: "json", LaneRV: 9, Check: "probe", Code: 200,
	}
	e.Waits[observe.Proving], e.Waits[observe.Writing] = 400*time.Millisecond, 200*time.Millisecond
	for took, lines := range map[time.Duration]int{500 * time.Millisecond: 0, 501 * time.Millisecond: 1} {
		e.Took = took
		slow.Done(e)
		entries := logs.TakeAll()
		if len(entries) != lines {
			t.Fatalf("%s: %d lines", took, len(entries))
		}
		if lines == 0 {
			continue
		}
		fields := entries[0].ContextMap()
		for name, want := range map[string]any{
			"auditID": "x", "user": "alice", "srcIP": "10.0.0.1", "verb": "list", "uri": "/api/v1/pods?limit=5", "resource": "deployments",
			"scope": "cluster", "rvMode": "MostRecent", "source": "cache", "forwardReason": "", "objectsScanned": int64(7),
			"objectsReturned": int64(5), "bytes": int64(100), "wireBytes": int64(10), "lane": "deployments.apps json", "laneRV": uint64(9),
			"check": "probe", "took": took,
		} {
			if fields[name] != want {
				t.Errorf("%s: got %v, want %v", name, fields[name], want)
			}
		}
		if len(fields["userAgent"].(string)) != maxSlowText {
			t.Errorf("got a user agent of %d bytes", len(fields["userAgent"].(string)))
		}
		steps := fields["steps"].(map[string]any)
		if len(steps) != 2 || steps["checking"] != 400*time.Millisecond || steps["writing"] != 200*time.Millisecond {
			t.Errorf("steps: %v", steps)
		}
	}
}

// Terminals show text from clients, so the text must be short and must not contain control characters.
func TestSlowLinesArePrintable(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	bad := "\x1b[2J" + strings.Repeat("x", 1000)
	NewSlowLog(zap.New(core), SlowLimits{Request: 1}).Done(&observe.Event{
		User: bad, UserAgent: bad, URI: bad, Verb: bad, Group: bad, Resource: bad, Encoding: "json", Took: time.Hour,
	})
	for name, most := range map[string]int{
		"user": maxSlowName, "verb": maxSlowName, "group": maxSlowName, "resource": maxSlowName, "lane": maxSlowName, "userAgent": maxSlowText, "uri": maxSlowText,
	} {
		if text := logs.All()[0].ContextMap()[name].(string); len(text) > most || !strings.HasPrefix(text, "?[2J") {
			t.Errorf("%s is %q", name, text)
		}
	}
}

// A long-running request is slow if its response takes long to begin, but not because of its age.
func TestLongRunningRequestIsSlowToBegin(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	slow := NewSlowLog(zap.New(core), SlowLimits{Request: time.Second})
	slow.Answering(&observe.Event{Verb: "watch", LongRunning: true, Started: 2 * time.Second})
	slow.Done(&observe.Event{Verb: "watch", LongRunning: true, Started: 2 * time.Second, Took: time.Hour})
	if logs.Len() != 1 {
		t.Errorf("got %v", logs.All())
	}
	slow.Done(&observe.Event{Verb: "watch", LongRunning: true, Took: time.Hour, Lagged: time.Minute})
	if logs.FilterMessage("Slow watch ended").Len() != 1 {
		t.Errorf("got %v", logs.All())
	}
}

// Without a threshold, no request is slow. The number of omitted lines does not include lines below the log's level.
func TestSlowLogCanBeDisabled(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	NewSlowLog(zap.New(core), SlowLimits{}).Done(&observe.Event{Took: time.Hour})
	if logs.Len() != 0 {
		t.Errorf("got %v", logs.All())
	}
}

// The rate of lines is limited, and the next line contains the number of omitted ones.
func TestSlowLinesAreLimited(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		slow := NewSlowLog(zap.New(core), SlowLimits{Request: time.Second})
		for range 1000 {
			slow.Done(&observe.Event{Took: time.Minute})
		}
		if logs.Len() != slowLinesAtOne {
			t.Fatalf("got %d lines", logs.Len())
		}
		<-time.After(time.Second)
		slow.Done(&observe.Event{Took: time.Minute})
		slow.Done(&observe.Event{Took: time.Minute})
		entries := logs.All()[slowLinesAtOne:]
		if len(entries) != 2 || entries[0].ContextMap()["leftOut"] != int64(1000-slowLinesAtOne) || entries[1].ContextMap()["leftOut"] != nil {
			t.Errorf("got %v", entries)
		}
	})
}
