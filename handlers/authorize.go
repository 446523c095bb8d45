package handlers

import (
	"context"
	"errors"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Authorizer says whether a request is allowed.
type Authorizer interface {
	// Authorize returns a grant for exactly these attributes. An *auth.DeniedError and every other error mean that
	// there is none: auth.ErrStale, an *auth.UnavailableError, an *auth.BusyError.
	Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error)
	// Hold follows what was granted, for a watch; whoever holds the lease releases it.
	Hold(a auth.Attributes) *auth.WatchAuthorization
}

// gate is the fourth station, and the only holder of the lanes: nobody gets one without the authorizer's grant for
// exactly what is asked.
type authorizationCheck struct {
	authorizer Authorizer
	catalog    *upstream.Catalog
	lanes      *reflector.Lanes
	waiting    *limit.ConcurrencyLimit // of those who wait for lanes
	draining   context.Context         // ends when the server begins to shut down
}

// authorize asks whether the request is allowed. Who acts as the user of the facade's kubeconfig is denied by the
// upstream itself, which is asked in the same name and words the refusal.
func (g *authorizationCheck) authorize(ctx context.Context, q *Request) error {
	defer q.Event.Waited(observe.Authorizing, q.Event.Waiting(observe.Authorizing))
	decision, err := g.authorizer.Authorize(ctx, q.Attributes)
	var denied *auth.DeniedError
	errors.As(err, &denied)
	q.decided(decision, denied, err)
	switch {
	case err == nil && decision.Covers(q.Attributes):
		return nil
	case errors.Is(err, auth.ErrStale):
		return staleError{}
	case q.Caller.Way == auth.ByKubeconfig && !q.subject.own():
		return forwardFor(observe.Denied)
	case denied != nil:
		return forbidden(q.Attributes, denied.Reason)
	case err == nil || q.Caller.Way == auth.ByKubeconfig:
		return forbidden(q.Attributes, "")
	default:
		return err
	}
}

// decided writes down what the authorizer said.
func (q *Request) decided(decision auth.Decision, denied *auth.DeniedError, err error) {
	e := q.Event
	e.PassedThrough = q.Attributes.PassedThrough
	switch {
	case err == nil:
		e.Decision, e.DecisionReason = observe.Allowed, decision.Reason()
	case denied != nil:
		e.Decision, e.DecisionReason = observe.Forbidden, denied.Reason
	default:
		e.DecisionReason = "internal error" // kube-apiserver's word for whatever went wrong
	}
}

// open returns the lane that an authorized request may read; nil for what no lane answers. A *forwardError says that
// the upstream has to answer, unless the lane that it comes with is ready by then.
func (g *authorizationCheck) open(ctx context.Context, q *Request) (*reflector.Reflector, error) {
	switch {
	case q.reason != "":
		return nil, forwardFor(q.reason)
	case q.subject != aboutResource:
		return nil, nil
	}
	lane, err := g.lanes.Get(q.resource, q.media.encoding())
	var full *reflector.NoMemoryError
	if errors.As(err, &full) {
		return nil, noMemory(q, full.After)
	}
	if errors.Is(err, reflector.ErrForeign) {
		return nil, forwardFor(observe.NotCached)
	}
	if err != nil {
		return nil, err
	}
	q.Event.Encoding = lane.Encoding.Name()
	if lane.Settling() && q.wantsMostRecent() {
		return lane, forwardFor(observe.NotReady)
	}
	if err := g.await(ctx, q, lane); err != nil {
		return nil, err
	}
	if failure := lane.Failure(); failure != nil && failure.Refused {
		if failure.NoMemory() {
			return nil, noMemory(q, 0)
		}
		if failure.TooLarge() {
			return nil, forwardFor(observe.NotCached)
		}
		if failure.Gone() {
			g.catalog.Forget(q.GVR)
		}
		return nil, forwardFor(observe.Refused)
	}
	return lane, nil
}
