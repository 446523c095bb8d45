package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// TargetGroup is a group of targets that Prometheus has discovered, with the labels of each target.
type TargetGroup struct {
	Source  string // such as pod/default/web-1
	Labels  map[string]string
	Targets []map[string]string
}

// DiscoveredBy returns what the program of test/clients/prometheus has discovered, by source. Groups without targets
// are not in the map.
func DiscoveredBy(printed *Output) map[string]TargetGroup {
	groups := map[string]TargetGroup{}
	for line := range strings.Lines(printed.String()) {
		var group TargetGroup
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &group) != nil {
			continue // the line is incomplete, or belongs to the log
		}
		groups[group.Source] = group
		if len(group.Targets) == 0 {
			delete(groups, group.Source)
		}
	}
	return groups
}

// AwaitDiscovered waits until the program of test/clients/prometheus has discovered groups whose source begins with a
// text, at least as many as wanted.
func AwaitDiscovered(t testing.TB, printed *Output, begin string, want int) {
	t.Helper()
	testkit.Eventually(t, begin+" is discovered", func() error {
		n := 0
		for source := range DiscoveredBy(printed) {
			if strings.HasPrefix(source, begin) {
				n++
			}
		}
		if n < want {
			return fmt.Errorf("%d groups, want %d", n, want)
		}
		return nil
	})
}
