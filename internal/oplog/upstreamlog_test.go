package oplog

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Failed requests of the facade are logged, a few times per minute. Rejected credentials of clients are not.
func TestFailedUpstreamRequestsAreLogged(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	l := NewUpstreamLog(zap.New(core))
	for range 100 {
		l.Asked("probe", http.StatusTooManyRequests, time.Second)
	}
	l.Asked("watch", 0, time.Second)
	l.Asked("read", http.StatusUnauthorized, time.Second)
	l.Asked("read", http.StatusOK, time.Second)
	l.Asked("passthrough", http.StatusUnauthorized, time.Second)
	l.Asked("passthrough", http.StatusForbidden, time.Second)
	var said []string
	for _, line := range logs.All() {
		said = append(said, line.Level.String()+" "+line.Message)
	}
	want := strings.Repeat("warn Throttled by the upstream with 429: probe\n", linesPerMinute) +
		"warn No response from the upstream: watch\nwarn Refused by the upstream with 401: read"
	if diff := cmp.Diff(want, strings.Join(said, "\n")); diff != "" {
		t.Error(diff)
	}
}
