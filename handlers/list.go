package handlers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// list answers for a collection (semantics 2).
func (s *Server) list(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error {
	p, err := planList(q)
	if err != nil {
		return err
	}
	q.Event.Plan = p.kind.String()
	if q.media.yaml && !isSmall(q, lane, p) {
		return forwardFor(observe.TooLargeYAML) // it would have to be decoded as a whole
	}
	state, err := s.stateFor(ctx, q, lane, p, patience(q, lane, p))
	if err != nil {
		return err
	}
	body := out.body(q.media)
	list := newList(body, q.media, state.Shape())
	if p.limit > 0 {
		err = writeChunk(list, q, lane, state, p)
	} else {
		err = writeAll(list, q, state, p)
	}
	if err != nil {
		return err
	}
	return body.Close()
}

// newList is the writer of the list form that was negotiated.
func newList(out *body, m media, shape *wire.Shape) wire.ListWriter {
	switch m.transform {
	case asTable:
		return wire.NewTableList(out, shape, wire.TableOptions{Meta: m.meta, Include: m.include, Now: time.Now()})
	case asPartialList:
		return wire.NewPartialList(out, shape, m.meta)
	default:
		return wire.NewList(out, shape)
	}
}

func writeAll(list wire.ListWriter, q *Request, state *cache.State, p plan) error {
	if err := list.Begin(wire.ListMeta{ResourceVersion: state.RV().String()}); err != nil {
		return err
	}
	for object := range state.Candidates(q.Predicate, p.from) {
		q.Event.Looked++
		if !q.Predicate.Matches(&object.Attributes) {
			continue
		}
		q.Event.Returned++
		if err := list.Item(object.Item); err != nil {
			return err
		}
	}
	return list.End()
}

// writeChunk writes at most limit objects, and a token for the rest when there is any (semantics 2.6).
func writeChunk(list wire.ListWriter, q *Request, lane *reflector.Reflector, state *cache.State, p plan) error {
	chunk := state.Chunk(q.Predicate, p.from, p.limit)
	q.Event.Looked, q.Event.Returned = chunk.Looked, len(chunk.Objects)
	meta := wire.ListMeta{ResourceVersion: state.RV().String()}
	if goesOn(q, lane, state, p, chunk) {
		last := chunk.Objects[len(chunk.Objects)-1].Key
		prefix := q.keyPrefix()
		style := cacheStyle
		if q.resource.ReadFromEtcd() {
			style = etcdStyle
		}
		meta.Continue = encodeToken(state.RV(), last, prefix, style)
		if q.Predicate.Everything() {
			remaining := int64(state.Count(cache.Span{Prefix: prefix, From: last + "\x00"}))
			meta.RemainingItemCount = &remaining
		}
	}
	if err := list.Begin(meta); err != nil {
		return err
	}
	for _, object := range chunk.Objects {
		if err := list.Item(object.Item); err != nil {
			return err
		}
	}
	return list.End()
}

// goesOn tells whether kube-apiserver would give a token for more: when any object is left, unless it looked for them
// in an index of its own, as it does in the newest state of two kinds (semantics 2.6).
func goesOn(q *Request, lane *reflector.Reflector, state *cache.State, p plan, chunk cache.Chunk) bool {
	if !chunk.Indexed || len(chunk.Objects) < p.limit || p.kind != exactly && indexedUpstream(lane.Resource.GVR.GroupResource(), q.Predicate) {
		return chunk.More
	}
	last := chunk.Objects[len(chunk.Objects)-1].Key
	return state.Count(cache.Span{Prefix: q.keyPrefix(), From: last + "\x00"}) > 0
}

// indexedUpstream tells the lists for which kube-apiserver has an index.
func indexedUpstream(resource schema.GroupResource, p *selectors.Predicate) bool {
	_, byNode := p.Exact("spec.nodeName")
	return byNode && (resource == schema.GroupResource{Resource: "pods"} || resource == schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"})
}
