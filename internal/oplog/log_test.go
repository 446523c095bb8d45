package oplog

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/observe"
)

// The log contains the steps that took time, and nothing above its level.
func TestRequestLog(t *testing.T) {
	e := &observe.Event{AuditID: "x", Source: observe.FromUpstream, Reason: observe.Unproven}
	e.Waits[observe.Asking] = time.Second
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
