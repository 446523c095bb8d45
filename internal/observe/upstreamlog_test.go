package observe

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// What the upstream refuses the facade is said, a few times a minute; what it refuses clients is not.
func TestUpstreamLog(t *testing.T) {
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
	want := strings.Repeat("warn the upstream sends the facade away with 429: probe\n", linesPerMinute) +
		"warn the upstream gives no answer: watch\nwarn the upstream does not accept the facade's credentials: read"
	if diff := cmp.Diff(want, strings.Join(said, "\n")); diff != "" {
		t.Error(diff)
	}
}
