package handlers

import (
	"context"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/wire"
)

// oneObject describes the upstream's response to a get of an object of usual size.
var oneObject = fresh.Answer{Objects: 1, Bytes: 2 << 10}

// get serves one object (semantics 3). A get without a resourceVersion is a linearizable read. A freshness check for a
// single get would cost the upstream as much as the object itself. Therefore the get is forwarded, unless it can share
// a check with other requests (ADR 8).
func (s *Server) get(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	// kube-apiserver has a special message for a name that no object can have.
	if strings.Contains(q.Name, "%") {
		return forwardFor(observe.OwnWords), nil
	}
	p, err := planGet(q)
	if err != nil {
		return route{}, err
	}
	q.Event.Plan = p.kind.String()
	state, to, err := s.stateFor(ctx, q, lane, p, oneObject)
	warnOfAge(out.header(), lane)
	if err != nil || to.forwards() {
		return to, err
	}
	q.Event.Looked, q.Event.LaneRV = 1, uint64(state.RV())
	object, ok := state.Get(q.prefix() + q.Name)
	if !ok {
		return route{}, notFound(q.GVR.GroupResource(), q.Name)
	}
	q.Event.Returned = 1
	defer q.Event.Encoded(time.Now(), q.Event.Waits[observe.Writing])
	body := out.body(q.media)
	defer func() { q.Event.RawBytes = body.Length() }()
	if err := body.WriteObject(state.Shape(), q.media.representation(wire.Whole), object.Item()); err != nil {
		return route{}, err
	}
	return route{}, body.Close()
}
