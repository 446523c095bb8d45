package handlers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
)

// cache serves a read from its lane.
func (s *Server) cache(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	if q.malformed != nil {
		if lane.Kind() == nil { // a refusal contains the lane's warnings, which the lane gets with its kind
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
	if to.forwards() {
		out.header().Del("Warning")
	}
	return to, err
}

// read serves the request according to its verb.
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

// unready returns the route or the error for a request whose lane has no State, or is too old (Config.MaxStaleness). It
// forwards gets, and lists that kube-apiserver reads from etcd while its cache is not initialized. Every other request
// gets the cause, so that its client retries (semantics 2.1).
func unready(q *Request, cause error) (route, error) {
	if q.verb() == verbGet || q.readsEtcdWhileUnready() {
		return forwardFor(observe.NotReady), nil
	}
	return route{}, cause
}

// noMemory returns the route or the error for a resource that does not fit into memory. after is when to retry.
func noMemory(q *Request, after time.Duration) (route, error) {
	if q.malformed != nil || q.verb() == verbGet || q.readsEtcdWhileUnready() {
		return forwardFor(observe.NoMemory), nil
	}
	return route{}, &notReadyError{cause: reflector.ErrNoMemory, after: after}
}

// isReady reports whether a lane has a State.
func isReady(lane Lane) bool {
	_, err := lane.Store().State()
	return err == nil
}

// readsEtcdWhileUnready reports whether kube-apiserver reads a list from etcd while its cache is not initialized. Such
// lists have a limit and no selectors. A limit without effect, as at version 0, also counts.
func (q *Request) readsEtcdWhileUnready() bool {
	limit := q.query.Get("limit")
	paged := limit != "" && limit != "0" && q.query.Get("labelSelector") == "" && q.query.Get("fieldSelector") == ""
	return q.verb() == verbList && paged && !q.shardsHere
}

// warnAfter is how long the upstream must be silent before responses have a warning. Resuming a watch takes less time.
const warnAfter = 5 * time.Second

// warn adds the upstream's warnings about a deprecated API. Refusals have them too.
func warn(header http.Header, lane Lane) {
	for _, warning := range lane.Warnings() {
		header.Add("Warning", warning)
	}
}

// warnOfAge adds the facade's own warning if the State is old, to a response from it or to an error. It is called after
// all waits, because the upstream may have responded during them.
func warnOfAge(header http.Header, lane Lane) {
	if stale := lane.StaleFor(); stale > warnAfter {
		header.Add("Warning", fmt.Sprintf("299 - \"the upstream kube-apiserver has not responded for %s\"",
			stale.Round(time.Second)))
	}
}

// printedTogether are the resources whose Table rows depend on the other objects of the list. Rows of flowschemas are
// sorted by precedence. One storageclass in the list is marked as the default.
var printedTogether = map[schema.GroupResource]bool{
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}: true,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:            true,
}

// printable reports whether the cache can print the same Table as kube-apiserver.
func printable(resource schema.GroupResource, shape wire.Shape) bool {
	return shape.Prints() && !printedTogether[resource]
}
