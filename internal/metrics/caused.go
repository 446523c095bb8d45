package metrics

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/price"
)

// causedWork estimates kube-apiserver's CPU for the facade's own requests. It omits forwarded requests. It also omits
// watches of RBAC objects and service accounts, because they are in no metric of requests to the upstream.
type causedWork struct {
	checks, reads, watches, reviews, documents, audited atomic.Uint64

	// The mutex of savedCollector guards the fields below. fill and events include ended lanes.
	last         map[laneID]laneCounts
	fill, events float64
	// objects in all lanes, and their bytes in storage; for the price of the self-audit
	objects, bytes float64
}

// asked counts a request to the upstream. The argument request is its kind, as in Metrics.Asked.
func (w *causedWork) asked(request string) {
	switch request {
	case "probe":
		w.checks.Add(1)
	case "read":
		w.reads.Add(1)
	case "watch":
		w.watches.Add(1)
	case "review":
		w.reviews.Add(1)
	case "document":
		w.documents.Add(1)
	}
}

// filling is the price of the list that fills a lane, as a multiple of a list's usual price. For 20,000 pods, the list
// that fills a lane costs 5.20 s, and a usual list costs 4.15 s (docs/benchmarks.md). The list that fills a JSON lane
// also contains the rows of a Table.
const filling = 1.25

// seconds returns kube-apiserver's CPU for the facade's requests in seconds, by purpose.
func (w *causedWork) seconds(lanes LaneSource) map[string]float64 {
	if lanes != nil {
		w.add(lanes())
	}
	audit := 0.0
	if w.objects > 0 {
		n := float64(w.audited.Load())
		audit = price.List{
			Objects: n, Bytes: n * w.bytes / w.objects, Encoding: price.JSON, Compressed: true,
		}.CPU() - price.Request
	}
	return map[string]float64{
		"fill": w.fill, "events": w.events, "audit": audit,
		"check": price.Probe*float64(w.checks.Load()) + price.Request*float64(w.reads.Load()) +
			price.Open*float64(w.watches.Load()),
		"review":   price.Review * float64(w.reviews.Load()),
		"document": price.Request * float64(w.documents.Load()),
	}
}

// add adds the work of lanes since the last call. It misses the work of a lane between the last call and the lane's
// end.
func (w *causedWork) add(lanes []LaneStats) {
	now := make(map[laneID]laneCounts, len(lanes))
	w.objects, w.bytes = 0, 0
	for _, lane := range lanes {
		id := laneID{groupResource{lane.Group, lane.Resource}, lane.Version, lane.Encoding, lane.Began}
		counts, last := laneCounts{epochs: lane.Epochs, received: lane.Applied}, w.last[id]
		now[id] = counts
		encoding := price.JSON
		if lane.Encoding == "protobuf" {
			encoding = price.Protobuf
		}
		objects, bytes := float64(lane.Objects), float64(lane.ObjectBytes)/price.SentBytes[encoding]
		whole := price.List{Objects: objects, Bytes: bytes, Encoding: encoding, Compressed: true}.CPU()
		w.fill += filling * whole * float64(counts.epochs-last.epochs)
		received := float64(counts.received - last.received)
		w.events += price.Events(received, received*bytes/max(objects, 1))
		w.objects, w.bytes = w.objects+objects, w.bytes+bytes
	}
	w.last = now
}
