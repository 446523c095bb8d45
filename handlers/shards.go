package handlers

import (
	"context"
	"errors"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/selectors"
)

// ShardSelectors selects the lists and watches with a shardSelector (KEP-5866) that the cache serves
// (docs/adr/0041-shards.md).
type ShardSelectors int

// Values of ShardSelectors.
const (
	ShardsAsUpstream ShardSelectors = iota // the cache serves all if the upstream applies the selector, or else none
	ServeShards                            // the cache serves all that it can; mayForward decides about the others
	ForwardShards                          // the cache serves none
)

// shardRoute forwards a request for shards if the cache must not serve it. It follows the authorization, because it may
// send a request to the upstream.
func (s *Server) shardRoute(ctx context.Context, q *Request) route {
	if q.reason != "" || !q.selectsShards() || q.shardsHere {
		return route{}
	}
	switch applies, err := s.shards.Applies(ctx, q.resource); {
	case err != nil:
		return forwardFor(observe.Undiscovered)
	case !applies:
		return forwardFor(observe.Unserved)
	}
	return route{}
}

// selectsShards reports whether a request is a list or watch of shards.
func (q *Request) selectsShards() bool {
	return (q.info.Verb == verbList || q.info.Verb == verbWatch) && q.query.Get("shardSelector") != ""
}

// unforwardable has the errors of requests for shards, by the reason why the cache cannot answer. For any other reason,
// the request is forwarded, because kube-apiserver refuses it.
var unforwardable = map[observe.Reason]error{
	observe.NotCached: errShardsNotServed, observe.MediaType: errShardsNotServed, observe.OwnWords: errShardsNotServed,
	observe.TooLargeYAML: errShardsNotServed, observe.Refused: errShardsNotServed,
	observe.OutsideWindow: errShardsExpired, observe.ReadFromEtcd: errShardsExpired,
	observe.NotReady: errShardsNotNow, observe.NoMemory: errShardsNotNow, observe.Unproven: errShardsNotNow,
	observe.Undiscovered: errShardsNotNow,
}

// mayForward returns an error if kube-apiserver would answer a request for shards with all objects.
func (s *Server) mayForward(ctx context.Context, q *Request) error {
	refusal := unforwardable[q.Event.Reason]
	undefined := q.reason == observe.Undiscovered && q.undiscovered == nil // kube-apiserver answers with a 404
	if !q.shardsHere || refusal == nil || q.malformed != nil || undefined {
		return nil
	}
	if applies, err := s.shards.Applies(ctx, q.resource); err == nil && applies {
		return nil
	}
	if _, err := selectors.ParseShards(q.Options.ShardSelector); isShardSyntax(err) {
		refusal = &invalidShardsError{cause: err}
	}
	q.Event.Source = observe.FromFacade
	return refusal
}

// invalidShardsError reports an invalid shardSelector. kube-apiserver responds with a 500 without a reason (semantics
// 5.6).
type invalidShardsError struct{ cause error }

func (e *invalidShardsError) Error() string { return e.cause.Error() }

func (e *invalidShardsError) Unwrap() error { return e.cause }

func isShardSyntax(err error) bool {
	var syntax *selectors.ShardSyntaxError
	return errors.As(err, &syntax)
}

// shardInfo returns the selector that a list must contain. Tables and metadata lists do not contain it.
func (q *Request) shardInfo() string {
	if shards := q.Predicate.Shards(); shards != nil && q.media.transform == asIs {
		return shards.String()
	}
	return ""
}
