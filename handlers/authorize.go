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

// Authorizer authorizes requests.
type Authorizer interface {
	// Authorize returns a decision for exactly these attributes. It returns an *auth.DeniedError for a denied request.
	// Any other error, such as auth.ErrStale or *auth.BusyError, means that there is no decision.
	Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error)
	// AuthorizeWatch reviews the decision for these attributes regularly, until the end of a watch. The caller must
	// release the returned authorization at the end of the watch.
	AuthorizeWatch(a auth.Attributes) *auth.WatchAuthorization
}

// authorizationCheck has the only reference to the lanes. A request gets a lane only after a decision that covers
// exactly the request's attributes.
type authorizationCheck struct {
	authorizer Authorizer
	catalog    *upstream.Catalog
	lanes      Lanes
	waiting    *limit.ConcurrencyLimit // limits requests that wait for lanes
	relisting  *limit.ConcurrencyLimit // limits lists that wait for a new list of contradicted lanes
	draining   context.Context         // cancelled when watches must end
}

// authorize checks whether the request is allowed. If the caller acts as the kubeconfig's user, a denied request is
// forwarded: the upstream refuses the request for the same user, with kube-apiserver's message.
func (g *authorizationCheck) authorize(ctx context.Context, q *Request) (route, error) {
	defer q.Event.Waited(observe.Authorizing, q.Event.Waiting(observe.Authorizing))
	decision, err := g.authorizer.Authorize(ctx, q.Attributes)
	var denied *auth.DeniedError
	errors.As(err, &denied)
	q.decided(decision, denied, err)
	switch {
	case err == nil && decision.Covers(q.Attributes):
		return route{}, nil
	case errors.Is(err, auth.ErrStale):
		return route{}, staleError{}
	case q.Caller.Way == auth.ByKubeconfig && !q.subject.own():
		return forwardFor(observe.Denied), nil
	case denied != nil:
		return route{}, forbidden(q.Attributes, denied.Reason)
	case err == nil || q.Caller.Way == auth.ByKubeconfig:
		return route{}, forbidden(q.Attributes, "")
	default:
		return route{}, err
	}
}

func (q *Request) decided(decision auth.Decision, denied *auth.DeniedError, err error) {
	e := q.Event
	e.PassedThrough = q.Attributes.PassedThrough
	switch {
	case err == nil:
		e.Decision, e.DecisionReason = observe.Allowed, decision.Reason()
	case denied != nil:
		e.Decision, e.DecisionReason = observe.Forbidden, denied.Reason
	default:
		e.DecisionReason = "internal error" // kube-apiserver's reason for every other error
	}
}

// open returns the lane that an authorized request may read, or nil if no lane serves the request. While Lane.Settling
// returns true, a read of the newest state gets both the lane and a route to the upstream (see forward).
func (g *authorizationCheck) open(ctx context.Context, q *Request) (Lane, route, error) {
	switch {
	case q.reason != "":
		return nil, forwardFor(q.reason), nil
	case q.subject != aboutResource:
		return nil, route{}, nil
	}
	lane, err := g.lanes.Get(q.resource, q.media.encoding)
	var full *reflector.NoMemoryError
	if errors.As(err, &full) {
		to, err := noMemory(q, full.After)
		return nil, to, err
	}
	if errors.Is(err, reflector.ErrAggregated) {
		return nil, forwardFor(observe.NotCached), nil
	}
	if err != nil {
		return nil, route{}, err
	}
	q.Event.Encoding = q.media.encoding.Name()
	if lane.Settling() && q.wantsMostRecent() {
		return lane, forwardFor(observe.NotReady), nil
	}
	if err := g.await(ctx, q, lane); err != nil {
		return nil, route{}, err
	}
	if to, err := g.ended(q, lane); err != nil || to.forwards() {
		return nil, to, err
	}
	return lane, route{}, nil
}

// ended returns the route or the error for a request whose lane has ended; zero values if the lane has not ended.
func (g *authorizationCheck) ended(q *Request, lane Lane) (route, error) {
	failure := lane.Failure()
	switch {
	case failure == nil || !failure.Refused:
		return route{}, nil
	case failure.NoMemory():
		return noMemory(q, 0)
	case failure.TooLarge():
		return forwardFor(observe.NotCached), nil
	case failure.Gone():
		g.catalog.Forget(q.GVR)
	}
	return forwardFor(observe.Refused), nil
}
