package suite

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Gaps are those in the lanes of a resource that the facade has met, as it says, by the lane's encoding; and what else
// became of gaps than that they were bridged.
func (f *Facade) Gaps(gvr schema.GroupVersionResource) (bridged map[string][]testkit.Gap, others []string) {
	bridged = map[string][]testkit.Gap{}
	for _, entry := range f.Lines.FilterMessage("the upstream has lost what followed the lane's version").All() {
		said := entry.ContextMap()
		text := func(key string) string { value, _ := said[key].(string); return value }
		if text("resource") != gvr.GroupResource().String() {
			continue
		}
		from, fromErr := strconv.ParseUint(text("from"), 10, 64)
		to, toErr := strconv.ParseUint(text("to"), 10, 64)
		if outcome := text("outcome"); outcome != "bridged" || fromErr != nil || toErr != nil {
			others = append(others, outcome)
			continue
		}
		bridged[text("encoding")] = append(bridged[text("encoding")], testkit.Gap{From: from, To: to})
	}
	return bridged, others
}
