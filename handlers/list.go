package handlers

import (
	"context"
	"iter"
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// list serves a collection (semantics 2).
func (s *Server) list(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	p, to, err := planList(q)
	if err != nil || to.forwards() {
		return to, err
	}
	q.Event.Plan = p.kind.String()
	if now, err := lane.Store().State(); err == nil && tooLargeYAML(q, now, p) {
		return forwardFor(observe.TooLargeYAML), nil // forwarded before the freshness check, which would be wasted
	}
	leave, err := s.limiter.charge(ctx, out, q, answerBytes(q, lane, p))
	if err != nil {
		return route{}, err
	}
	defer leave()
	state, to, err := s.stateFor(ctx, q, lane, p, answerTo(q, lane, p))
	if p.kind != exactly || err != nil { // an exact version does not become stale
		warnOfAge(out.header(), lane)
	}
	if err != nil || to.forwards() {
		return to, err
	}
	if tooLargeYAML(q, state, p) {
		return forwardFor(observe.TooLargeYAML), nil
	}
	return route{}, out.list(q, state, p)
}

func (o *reply) list(q *Request, state *cache.State, p plan) error {
	q.Event.LaneRV = uint64(state.RV())
	defer q.Event.Encoded(time.Now(), q.Event.Waits[observe.Writing])
	body := o.body(q.media)
	defer func() { q.Event.RawBytes = body.Length() }()
	list := wire.List{
		Shape: state.Shape(), Representation: q.media.representation(wire.Listed),
		Meta: wire.ListMeta{ResourceVersion: state.RV().String(), Shards: q.shardInfo()}, Now: time.Now(),
	}
	write := writeAll
	if p.limit > 0 {
		write = writeChunk
	}
	if err := write(body, list, q, state, p); err != nil {
		return err
	}
	return body.Close()
}

func writeAll(body *wire.Body, list wire.List, q *Request, state *cache.State, p plan) error {
	selection := state.Selection(q.Predicate, p.from)
	list.Runs = written(selection.Runs())
	if !q.Predicate.Everything() {
		asked := wire.SelectorUse{User: q.Caller.Info.GetName(), Resource: q.GVR, Selector: q.Predicate.String()}
		if body.Remembers(asked) {
			list.Runs = candidates(selection, unique.Make(asked.Selector))
		}
	}
	err := body.WriteList(list)
	q.Event.Looked, q.Event.Returned = selection.Looked, body.Items()
	return err
}

// candidates returns the runs in which objects may match. The selector of each run selects the objects, unless a
// precompressed run already contains the result.
func candidates(s *cache.Selection, name unique.Handle[string]) iter.Seq[wire.Run] {
	selector := &wire.Selector{Name: name,
		Selects: func(p wire.Page, at int) bool { return s.Selects(p.(*cache.Page), at) }}
	return func(yield func(wire.Run) bool) {
		for run := range s.Candidates() {
			if !yield(wire.Run{Page: run.Page, From: run.From, To: run.To, Selector: selector}) {
				return
			}
		}
	}
}

// writeChunk writes at most limit objects, and a continue token if there are more (semantics 2.6).
func writeChunk(body *wire.Body, list wire.List, q *Request, state *cache.State, p plan) error {
	chunk := state.Chunk(q.Predicate, p.from, p.limit)
	q.Event.Looked, q.Event.Returned = chunk.Looked, chunk.Len
	if hasMore(q, state, p, chunk) {
		last := chunk.Last().Key()
		prefix := q.keyPrefix()
		style := upstream.CacheStyle
		if q.resource.ReadFromEtcd() {
			style = upstream.EtcdStyle
		}
		list.Meta.Continue = encodeToken(state.RV(), last, prefix, style)
		if q.Predicate.Everything() {
			remaining := int64(state.Count(cache.Span{Prefix: prefix, From: last + "\x00"}))
			list.Meta.RemainingItemCount = &remaining
		}
	}
	list.Runs = written(slices.Values(chunk.Runs))
	return body.WriteList(list)
}

func written(runs iter.Seq[cache.Run]) iter.Seq[wire.Run] {
	return func(yield func(wire.Run) bool) {
		for run := range runs {
			if !yield(wire.Run{Page: run.Page, From: run.From, To: run.To}) {
				return
			}
		}
	}
}

// hasMore reports whether kube-apiserver would return a continue token. Normally, kube-apiserver returns one if any
// object remains, selected or not. For the pods or resourceslices of one node, kube-apiserver searches an index in the
// newest state, and returns a token only if a selected object remains (semantics 2.6).
func hasMore(q *Request, state *cache.State, p plan, chunk cache.Chunk) bool {
	if !chunk.Indexed || chunk.Len < p.limit || p.kind != exactly && indexedUpstream(q.GVR.GroupResource(), q.Predicate) {
		return chunk.More
	}
	last := chunk.Last().Key()
	return state.Count(cache.Span{Prefix: q.keyPrefix(), From: last + "\x00"}) > 0
}

func indexedUpstream(resource schema.GroupResource, p *selectors.Predicate) bool {
	_, byNode := p.Exact(nodeField)
	return byNode && indexesNode(resource)
}

// nodeField is the field that kube-apiserver indexes.
const nodeField = "spec.nodeName"

func indexesNode(resource schema.GroupResource) bool {
	return resource == schema.GroupResource{Resource: "pods"} ||
		resource == schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}
}
