package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Each request creates one Event with the caller, the request, the source of the response, the reason and the cost.
func TestRequestsCreateEvents(t *testing.T) {
	core := func(verb string) observe.Event {
		return observe.Event{
			User: auth.Kubeconfig().Name(), Method: "GET", Verb: verb, Version: "v1", Resource: "configmaps", Scope: "cluster",
			Discovered: true, Source: observe.FromCache, Encoding: "json", LaneRV: 4, Code: http.StatusOK,
		}
	}
	with := func(e observe.Event, change func(*observe.Event)) observe.Event { change(&e); return e }
	for target, want := range map[string]observe.Event{
		"/api/v1/configmaps?resourceVersion=0": with(core("list"), func(e *observe.Event) {
			e.Plan, e.Looked, e.Returned = "Any", 3, 3
		}),
		"/api/v1/configmaps?resourceVersion=0&labelSelector=a": with(core("list"), func(e *observe.Event) {
			e.Plan, e.Looked, e.Selector = "Any", 3, "label a exists"
		}),
		"/api/v1/configmaps?limit=2": with(core("list"), func(e *observe.Event) {
			e.Plan, e.Looked, e.Returned, e.Check = "MostRecent", 2, 2, "roll-call"
		}),
		"/api/v1/namespaces/ns/configmaps/a?resourceVersion=0": with(core("get"), func(e *observe.Event) {
			e.Plan, e.Looked, e.Returned, e.Scope, e.Namespace, e.Name = "Any", 1, 1, "resource", "ns", "a"
		}),
		"/api/v1/namespaces/ns/configmaps/x?resourceVersion=0": with(core("get"), func(e *observe.Event) {
			e.Plan, e.Looked, e.Code, e.Scope, e.Namespace, e.Name = "Any", 1, http.StatusNotFound, "resource", "ns", "x"
		}),
		"/api/v1/namespaces/ns/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0": with(core("watch"), func(e *observe.Event) {
			e.Plan, e.Returned, e.Scope, e.Namespace, e.LongRunning = "Any", 3, "namespace", "ns", true
		}),
		"/api/v1/namespaces/ns/configmaps/a": with(core("get"), func(e *observe.Event) {
			e.Plan, e.Source, e.Reason, e.LaneRV = "MostRecent", observe.FromUpstream, observe.Unproven, 0
			e.Scope, e.Namespace, e.Name = "resource", "ns", "a"
		}),
		"/api/v1/namespaces/ns/configmaps/a/status": with(core("get"), func(e *observe.Event) {
			e.Encoding, e.LaneRV = "", 0
			e.Discovered, e.Subresource, e.Source, e.Reason, e.Code = false, "status", observe.FromUpstream, observe.NotARead, 404
			e.Scope, e.Namespace, e.Name = "resource", "ns", "a"
		}),
		"/api/v1/unknowns": with(core("list"), func(e *observe.Event) {
			e.Encoding, e.LaneRV = "", 0
			e.Discovered, e.Resource, e.Source, e.Reason, e.Code = false, "unknowns", observe.FromUpstream, observe.Undiscovered, 404
		}),
		"/api/v1": {User: auth.Kubeconfig().Name(), Method: "GET", Verb: "get", Source: observe.FromCache, Code: http.StatusOK},
		"/livez":  {User: auth.Kubeconfig().Name(), Method: "GET", Verb: "get", Source: observe.FromFacade, Code: http.StatusOK},
		"/api/v1/configmaps?timeout=x": with(core("list"), func(e *observe.Event) {
			e.Encoding, e.LaneRV = "", 0
			e.User, e.Discovered, e.Source, e.Code = "", false, observe.FromFacade, http.StatusBadRequest
		}),
	} {
		inBubble(t, func(t *testing.T, f *facade) {
			for _, key := range []string{"ns/a", "ns/b", "ns/c"} {
				f.Put(key, usual)
			}
			f.get(t, reads[0])
			response, body := f.get(t, target)
			got := f.events.last()
			want.URI, want.Admitted = target, want.User != "" // an invalid request is refused first
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(observe.Event{}, "AuditID", "Client", "Path", "Caller", "Header", "Decision", "DecisionReason", "PassedThrough", "Status", "UserAgent", "Bytes", "RawBytes", "Began",
				"Took", "Waits", "Started")); diff != "" {
				t.Errorf("%s: %s", target, diff)
			}
			if got.Source != observe.FromUpstream && got.AuditID != response.Header.Get("Audit-Id") || got.Bytes != int64(len(body)) || got.RawBytes != got.Bytes || got.Client == "" ||
				got.UserAgent == "" || got.Began.IsZero() {
				t.Errorf("%s: %+v", target, got)
			}
		}, func(c *Config) { c.BookmarkInterval = time.Hour })
	}
}

// An Event contains how long the request waited for the authorizer.
func TestEventHasWaitForAuthorizer(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.allow = func(auth.Attributes) bool { <-time.After(time.Second); return true }
		f.get(t, reads[1])
		if waited := f.events.last().Waits[observe.Authorizing]; waited != time.Second {
			t.Errorf("got a wait of %s for the authorizer", waited)
		}
	})
}

// An operator finds a client's request in the log by the id in its response (docs/divergences.md: ids are logged).
func TestAuditIDsAreLogged(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		ids := map[string]string{}
		for _, target := range []string{reads[0], "/api/v1/configmaps?resourceVersion=abc&watch=1"} {
			response, _ := f.get(t, target)
			ids[response.Header.Get("Audit-Id")] = target
		}
		f.allow = func(auth.Attributes) bool { panic("a bug") }
		response, _ := f.get(t, reads[1])
		ids[response.Header.Get("Audit-Id")] = reads[1]
		synctest.Wait()
		for id, target := range ids {
			lines := logs.FilterField(zap.String("auditID", id)).Len()
			want := 1 // errors of the client are only in this line
			if target == reads[1] {
				want += 2 // an error of the facade has its own line, and so has its stack, at levels that are on by default
			}
			for _, entry := range logs.FilterField(zap.String("auditID", id)).All() {
				if entry.Level > zap.DebugLevel && strings.Contains(fmt.Sprint(entry.ContextMap()), "/configmaps") {
					t.Errorf("got a log line with the client's data: %v", entry.ContextMap())
				}
			}
			if id == "" || lines != want {
				t.Errorf("%s: got %d lines with %q, want %d", target, lines, id, want)
			}
		}
	}, func(c *Config) { c.Log, c.Observer = zap.New(core), oplog.NewRequestLog(zap.New(core)) })
}
