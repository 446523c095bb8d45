package reflector

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// lane is a cache.Lane with its resource, and the values that its writer shares with other goroutines. It does not
// refer to the writer. Safe for concurrent use.
type lane struct {
	Cache    *cache.Lane
	Resource upstream.Resource
	Encoding wire.Encoding
	client   *upstream.Client
	log      *zap.Logger
	metrics  Metrics

	facts
	health
	fill   fill
	synced atomic.Pointer[listWatch] // listWatch of the visible State; nil while the lane is being listed
	origin atomic.Pointer[origin]    // upstream of the present epoch
	older  olderStore                // events from before the history

	resumed atomic.Pointer[resumption] // where the recorder continues the journal of a restored lane; nil otherwise

	progressWatched chan step  // steps of progress watches, to be applied by the writer
	wrong           chan error // capacity 1: reason why the epoch has to end
}

func (l *Lanes) newLane(resource upstream.Resource, e wire.Encoding) *lane {
	n := &lane{
		Cache: cache.NewLane(l.config.options(resource)), Resource: resource, Encoding: e,
		client: l.client, metrics: l.metrics, log: l.log.With(zap.String("resource", resource.GVR.GroupResource().String()),
			zap.String("version", resource.GVR.Version), zap.String("encoding", e.Name())),
		progressWatched: make(chan step), wrong: make(chan error, 1),
	}
	n.began = time.Now()
	n.receivesNothing(n.began)
	n.fill.before = l.fills.of(n.key())
	n.origin.Store(newOrigin())
	return n
}

func (l *lane) key() laneKey { return laneKey{gvr: l.Resource.GVR, encoding: l.Encoding} }

// contradict makes the writer end the epoch for a reason, for example because the lane differs from the upstream.
func (l *lane) contradict(reason error) {
	select {
	case l.wrong <- reason:
	default: // the writer already has a reason
	}
}
