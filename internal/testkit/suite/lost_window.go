package suite

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// LostWindows returns the replayed lost windows of a resource's lanes by encoding, as the facade logs them. others are
// the outcomes of lost windows that were not replayed.
func (f *Facade) LostWindows(gvr schema.GroupVersionResource) (bridged map[string][]testkit.LostWindow,
	others []string) {
	bridged = map[string][]testkit.LostWindow{}
	for _, entry := range f.Lines.FilterMessage("Listed the lane again").All() {
		said := entry.ContextMap()
		text := func(key string) string { value, _ := said[key].(string); return value }
		if text("resource") != gvr.GroupResource().String() {
			continue
		}
		if outcome := text("outcome"); outcome != "replayed" {
			others = append(others, outcome)
			continue
		}
		// A version that was confirmed within the lost window splits it: the lane's state at that version is correct.
		confirmed, _ := said["confirmed"].([]any)
		from, err := strconv.ParseUint(text("from"), 10, 64)
		if err != nil {
			panic(err)
		}
		for _, next := range append(confirmed, said["to"]) {
			to, err := strconv.ParseUint(fmt.Sprint(next), 10, 64)
			if err != nil {
				panic(err)
			}
			bridged[text("encoding")] = append(bridged[text("encoding")], testkit.LostWindow{From: from, To: to})
			from = to
		}
	}
	return bridged, others
}
