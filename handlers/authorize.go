package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Authorizer says whether a request is allowed.
type Authorizer interface {
	// Authorize returns a grant for exactly these attributes. An *auth.DeniedError and every other error mean that there
	// is none: auth.ErrStale, an *auth.UnavailableError, an *auth.BusyError.
	Authorize(ctx context.Context, a auth.Attributes) (auth.Grant, error)
	// Hold follows what was granted, for a watch; whoever holds the lease releases it.
	Hold(a auth.Attributes) *auth.Lease
}

// gate is the fourth station, and the only holder of the lanes: nobody gets one without the authorizer's grant for
// exactly what is asked.
type gate struct {
	authorizer Authorizer
	catalog    *upstream.Catalog
	lanes      *reflector.Lanes
	crowd      *limit.Crowd    // of those who wait for lanes
	draining   context.Context // ends when the server begins to shut down
}

// open asks the authorizer and returns the lane that the request may read; nil for what no lane answers. A
// *forwardError says that the upstream has to answer: also when the request is denied, since it is asked in the same
// name and words the refusal.
func (g *gate) open(ctx context.Context, q *Request) (*reflector.Reflector, error) {
	granted, err := g.granted(ctx, q)
	switch {
	case errors.Is(err, auth.ErrStale):
		return nil, staleError{}
	case !granted && q.subject.own():
		return nil, forbidden(q)
	case !granted:
		return nil, forwardFor(observe.Denied)
	case q.reason != "":
		return nil, forwardFor(q.reason)
	case q.subject != aboutResource:
		return nil, nil
	}
	lane, err := g.lanes.Get(q.resource, q.media.encoding())
	if err != nil {
		return nil, err
	}
	if err := g.await(ctx, q, lane); err != nil {
		return nil, err
	}
	if failure := lane.Failure(); failure != nil && failure.Refused {
		if failure.Gone() {
			g.catalog.Forget(q.GVR)
		}
		return nil, forwardFor(observe.Refused)
	}
	return lane, nil
}

// granted tells whether the authorizer said yes to this very request, and else why it did not, if it says so.
func (g *gate) granted(ctx context.Context, q *Request) (bool, error) {
	defer q.Event.Waited(observe.Authorizing, time.Now())
	grant, err := g.authorizer.Authorize(ctx, q.Attributes)
	return err == nil && grant.Covers(q.Attributes), err
}
