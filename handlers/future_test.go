package handlers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A quiet lane does not hear that the upstream reaches, within the wait, the version that somebody wants.
func TestVersionIsReachedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		for _, after := range []time.Duration{time.Second, 4 * time.Second} {
			want := f.RV() + 1
			time.AfterFunc(after, func() { f.Elsewhere() })
			_, body := f.get(t, fmt.Sprintf(
				"/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=10&resourceVersion=%d", want))
			if inTime := after < freshWait; inTime != strings.HasPrefix(body, `{"type":"ADDED"`) ||
				inTime == strings.Contains(body, fmt.Sprintf("Too large resource version: %d", want)) {
				t.Errorf("reached after %s: %s", after, body)
			}
		}
	})
}
