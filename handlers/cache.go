package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/wire"
)

// cache answers a read from its lane.
func (s *Server) cache(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error {
	if q.malformed != nil {
		if lane.Kind() == nil { // and so its warnings, which refusals have too
			return forwardFor(observe.NotReady)
		}
		warn(out.header(), lane)
		q.Event.Source = observe.FromCache
		return q.malformed
	}
	state, err := s.ready(lane)
	if err != nil {
		return unready(q, err)
	}
	if q.media.transform == asTable && !printable(q.GVR.GroupResource(), state.Shape()) {
		return forwardFor(observe.MediaType)
	}
	warn(out.header(), lane)
	q.Event.Source = observe.FromCache
	err = s.read(ctx, out, q, lane)
	var forward *forwardError
	if errors.As(err, &forward) {
		out.header().Del("Warning")
	}
	return err
}

// read tells the verbs apart.
func (s *Server) read(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error {
	if q.verb() == verbGet {
		return s.get(ctx, out, q, lane)
	}
	if err := s.selectable(ctx, q, lane.Kind()); err != nil {
		return err
	}
	if err := q.selectBy(lane.Kind()); err != nil {
		if lane.Undefined() {
			return forwardFor(observe.OwnWords)
		}
		return err
	}
	if q.verb() == verbWatch {
		return s.watch(ctx, out, q, lane)
	}
	if q.strays() {
		return forwardFor(observe.OwnWords)
	}
	return s.list(ctx, out, q, lane)
}

// unready answers for a lane that has nothing to show, as an uninitialised cache of kube-apiserver does: what costs the
// upstream little goes there, everything else comes back later (semantics 2.1).
func unready(q *Request, why error) error {
	if q.verb() == verbGet || q.passesUnready() {
		return forwardFor(observe.NotReady)
	}
	return why
}

// roomless answers for a resource that there is no memory for, as for a lane that has nothing to show. There may be
// some after a time.
func noMemory(q *Request, after time.Duration) error {
	if q.malformed != nil || q.verb() == verbGet || q.passesUnready() {
		return forwardFor(observe.NoMemory)
	}
	return &notReadyError{cause: reflector.ErrNoMemory, after: after}
}

// isReady tells whether a lane has something to show.
func isReady(lane *reflector.Reflector) bool {
	_, err := lane.Cache.State()
	return err == nil
}

// passesUnready tells a list that kube-apiserver reads from etcd while its cache is not initialised: one with a limit
// and without selectors, whether the limit counts or not.
func (q *Request) passesUnready() bool {
	limit := q.query.Get("limit")
	paged := limit != "" && limit != "0" && q.query.Get("labelSelector") == "" && q.query.Get("fieldSelector") == ""
	return q.verb() == verbList && paged
}

// warnAfter is how long the upstream must be silent before clients are told; a watch that is resumed takes less.
const warnAfter = 5 * time.Second

// warn adds the upstream's warnings about a deprecated API, which refusals have too.
func warn(header http.Header, lane *reflector.Reflector) {
	for _, warning := range lane.Warnings() {
		header.Add("Warning", warning)
	}
}

// warnOfAge adds a warning of our own, about an answer that may be old, or is none because the lane is. It comes after
// what the answer waits for: meanwhile the lane may have been heard.
func warnOfAge(header http.Header, lane *reflector.Reflector) {
	if stale := lane.StaleFor(); stale > warnAfter {
		header.Add("Warning", fmt.Sprintf("299 - \"the upstream kube-apiserver has not been heard for %s\"", stale.Round(time.Second)))
	}
}

// printedTogether are the kinds whose Table is not a row for each object by itself: flowschemas are sorted by
// precedence, and one storageclass of those in the answer is marked as the default.
var printedTogether = map[schema.GroupResource]bool{
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}: true,
	{Group: "storage.k8s.io", Resource: "storageclasses"}:            true,
}

// printable tells whether the cache's rows of a kind make the Table that kube-apiserver would print.
func printable(resource schema.GroupResource, shape wire.Shape) bool {
	return shape.Prints() && !printedTogether[resource]
}
