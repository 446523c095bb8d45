package handlers

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// ownHeaders are set on every answer, and are in every answer of the upstream too.
var ownHeaders = []string{"Audit-Id", "Cache-Control"}

// orForward lets the upstream answer if what came of a request so far is a *forwardError.
func (s *Server) orForward(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector, err error) error {
	var forward *forwardError
	if !errors.As(err, &forward) {
		return err
	}
	q.Event.Reason = forward.reason
	return s.forward(ctx, out, q, lane)
}

// again asks the lane once more. Where that has no answer either, the reason is why.
func (s *Server) again(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) (answered bool, err error) {
	q.Event.Reason = ""
	err = s.cache(ctx, out, q, lane)
	var forward *forwardError
	if !errors.As(err, &forward) {
		return true, err
	}
	q.Event.Reason = forward.reason
	return false, nil
}

// forward lets the upstream answer. lane is the one that could not; nil when there is none. A lane that was not ready
// and is when the request's turn comes, answers instead, if it can now.
func (s *Server) forward(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error {
	if !isCanonical(q.url.Path) {
		return errNoRoute // a watch of a name that no object has, in a form that the cache does not give
	}
	if answersReview(q) {
		return s.review(ctx, out, q)
	}
	as, err := s.credentials(ctx, q)
	if err != nil {
		return err
	}
	cached := int64(0)
	if lane != nil {
		cached = lane.Cache.Stats().ObjectBytes
	}
	place, err := s.limiter.forwardSeat(ctx, q, cached)
	if err == nil && q.Event.Reason == observe.NotReady && isReady(lane) {
		place.leave()
		// Once: what has come about may not be what the request needs, and stay so.
		if answered, err := s.again(ctx, out, q, lane); answered {
			return err
		}
		place, err = s.limiter.forwardSeat(ctx, q, cached)
	}
	if err != nil {
		q.Event.Source = observe.FromFacade
		return err
	}
	defer place.leave()
	q.Event.Source = observe.FromUpstream
	out.progress.Answering()
	defer q.Event.Waited(observe.Asking, q.Event.Waiting(observe.Asking))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read := upstream.BodyReader(place.read)
	if q.isWatch() {
		watch := s.watchForwarded(ctx, q, func() { cancel(upstream.ErrEnd) })
		defer watch.stop()
		read = watch.around(read)
		if q.upgrade {
			if done, err := s.forwardSocket(ctx, out, q, as, read); done || err != nil {
				return err
			}
		}
	}
	// The upstream's own headers are the answer; ours would stand beside them.
	header, own := out.header(), http.Header{}
	for _, name := range ownHeaders {
		own[name] = header[name]
		header.Del(name)
	}
	if err := s.upstream.Serve(out.paced(), q.outgoing(ctx), as, read); err != nil {
		maps.Copy(header, own)
		return err
	}
	return nil
}
