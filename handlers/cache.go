package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
)

// cache serves a read from its lane. If the lane is known to be wrong, and the upstream may not answer instead, cache
// waits for the lane's new list and tries once more. During the wait the request has no seats for list bytes.
func (s *Server) cache(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	to, err := s.fromLane(ctx, out, q, lane)
	if !errors.Is(err, fresh.ErrContradicted) {
		return to, err
	}
	if to, err := s.authorization.awaitRelist(ctx, q, lane); err != nil || to.forwards() {
		return to, err
	}
	to, err = s.fromLane(ctx, out, q, lane)
	if errors.Is(err, fresh.ErrContradicted) { // the list takes too long, or is contradicted, too
		return late(q, lane)
	}
	return to, err
}

// late returns the route or the error for a request whose lane is still contradicted after the wait, as unready does
// for a lane without a State. The reason of the route is Unproven. With NotReady, forward would try the lane again, and
// the request would wait a second time.
func late(q *Request, lane Lane) (route, error) {
	if q.readsEtcdWhileUnready() {
		return forwardFor(observe.Unproven), nil
	}
	return route{}, &notReadyError{after: lane.FilledIn()}
}

// fromLane serves a read from its lane. It sends nothing if it returns fresh.ErrContradicted (stateFor).
func (s *Server) fromLane(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	if q.malformed != nil {
		if lane.Kind() == nil { // a refusal needs the lane's warnings, which the lane gets with its kind
			return forwardFor(observe.NotReady), nil
		}
		warn(out.header(), lane)
		q.Event.Source = observe.FromCache
		return route{}, q.malformed
	}
	state, err := s.ready(lane)
	if err != nil {
		return unready(q, err)
	}
	if q.media.transform == asTable && !printable(q.GVR.GroupResource(), state.Shape()) {
		return forwardFor(observe.MediaType), nil
	}
	warn(out.header(), lane)
	q.Event.Source = observe.FromCache
	to, err := s.read(ctx, out, q, lane)
	contradicted := errors.Is(err, fresh.ErrContradicted)
	if contradicted {
		q.Event.Source = observe.FromFacade // unless the next attempt succeeds
	}
	if to.forwards() || contradicted {
		out.header().Del("Warning")
	}
	return to, err
}

func (s *Server) read(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	if q.verb() == verbGet {
		return s.get(ctx, out, q, lane)
	}
	if to := s.selectable(ctx, q, lane.Kind()); to.forwards() {
		return to, nil
	}
	if err := q.selectBy(lane.Kind()); err != nil {
		if lane.Undefined() || isShardSyntax(err) {
			return forwardFor(observe.OwnWords), nil
		}
		return route{}, err
	}
	if q.verb() == verbWatch {
		return s.watch(ctx, out, q, lane)
	}
	if q.continuesNarrowed() {
		return forwardFor(observe.OwnWords), nil
	}
	return s.list(ctx, out, q, lane)
}

// unready returns the route or the error for a request whose lane has no State, or has received nothing for
// Config.MaxStaleness. Gets are forwarded, and also lists that kube-apiserver reads from etcd while its cache is not
// initialized. Every other request gets the cause as its error, so that its client retries (semantics 2.1).
func unready(q *Request, cause error) (route, error) {
	if q.verb() == verbGet || q.readsEtcdWhileUnready() {
		return forwardFor(observe.NotReady), nil
	}
	return route{}, cause
}

// noMemory returns the route or the error for a resource that does not fit into memory. after is the time until the
// client's retry.
func noMemory(q *Request, after time.Duration) (route, error) {
	if q.malformed != nil || q.verb() == verbGet || q.readsEtcdWhileUnready() {
		return forwardFor(observe.NoMemory), nil
	}
	return route{}, &notReadyError{cause: reflector.ErrNoMemory, after: after}
}

func isReady(lane Lane) bool {
	_, err := lane.Store().State()
	return err == nil
}

// readsEtcdWhileUnready reports whether kube-apiserver reads a list from etcd while its cache is not initialized. Such
// a list has a limit and no selectors. The limit counts even where it has no effect, as at version 0.
func (q *Request) readsEtcdWhileUnready() bool {
	limit := q.query.Get("limit")
	paged := limit != "" && limit != "0" && q.query.Get("labelSelector") == "" && q.query.Get("fieldSelector") == ""
	return q.verb() == verbList && paged && !q.shardsHere
}

// warnAfter is how long the upstream is silent before responses get a warning. Resuming a lane's watch takes less time.
const warnAfter = 5 * time.Second

// warn adds the upstream's warnings about a deprecated API. Refusals get these warnings, too.
func warn(header http.Header, lane Lane) {
	for _, warning := range lane.Warnings() {
		header.Add("Warning", warning)
	}
}

// warnOfAge adds the facade's own warning if the upstream has been silent for too long. It is called after all waits,
// because the upstream may have responded during a wait.
func warnOfAge(header http.Header, lane Lane) {
	if stale := lane.StaleFor(); stale > warnAfter {
		header.Add("Warning", fmt.Sprintf("299 - \"the cache has received nothing from the upstream kube-apiserver for %s\"",
			stale.Round(time.Second)))
	}
}

// printedTogether are the resources whose Table rows depend on the other objects of the list. The rows of flowschemas
// are sorted by precedence. In a list of storageclasses, one row is marked as the default.
var printedTogether = map[schema.GroupResource]bool{
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}: true,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:            true,
}

func printable(resource schema.GroupResource, shape wire.Shape) bool {
	return shape.Prints() && !printedTogether[resource]
}
