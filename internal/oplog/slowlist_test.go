package oplog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/observe"
)

// The last slow requests are kept, with one entry for each lagging watch, and with truncated texts.
func TestSlowRequestsAreKept(t *testing.T) {
	slow := NewSlowLog(zap.NewNop(), SlowLimits{Request: time.Second})
	long := strings.Repeat("<x>", 1<<16)
	for i := range 3 * keptSlow {
		e := &observe.Event{AuditID: fmt.Sprint(i), Client: "10.0.0.1:4711", User: long, UserAgent: long, URI: long, Verb: long, Resource: long, Took: time.Duration(i+2) * time.Second}
		e.Waits[observe.Proving], e.Waits[observe.Writing] = time.Second, 2*time.Second
		slow.Done(e)
	}
	watch := &observe.Event{AuditID: "watch", Client: "10.0.0.1:4711", LongRunning: true}
	for i := range 5 {
		slow.Lagging(watch, observe.Lag{For: time.Duration(i+1) * time.Hour})
	}
	list := slow.Recent("took", 1000)
	if list.Total != 3*keptSlow+5 || len(list.Items) != keptSlow {
		t.Fatalf("got %d of %d requests", len(list.Items), list.Total)
	}
	if first := list.Items[0]; first.AuditID != "watch" || first.TookSeconds != 5*3600 {
		t.Errorf("got %+v", first)
	}
	second := list.Items[1]
	if second.AuditID != fmt.Sprint(3*keptSlow-1) || second.Longest != "writing" || second.Steps["checking"] != 1 || second.Client != "10.0.0.1" {
		t.Errorf("got %+v", second)
	}
	if len(second.URI) > shortText || len(second.UserAgent) > shortText || len(second.User) > maxSlowName || len(second.Verb) > maxSlowName || len(second.Resource) > maxSlowName {
		t.Errorf("got %d bytes of a URI, %d of a user agent, %d of a user", len(second.URI), len(second.UserAgent), len(second.User))
	}
	if recent := slow.Recent("at", 3); len(recent.Items) != 3 || recent.Items[0].AuditID != "watch" {
		t.Errorf("got %+v", recent)
	}
}
