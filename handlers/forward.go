package handlers

import (
	"context"
	"maps"
	"net/http"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// ownHeaders are headers that the facade sets on every response, as the upstream does.
var ownHeaders = []string{"Audit-Id", "Cache-Control"}

// again tries once more to answer from the lane. It returns false if the upstream must answer.
func (s *Server) again(ctx context.Context, out *reply, q *Request, lane Lane) (answered bool, err error) {
	q.Event.Reason = ""
	to, err := s.cache(ctx, out, q, lane)
	q.Event.Reason = to.reason
	return !to.forwards(), err
}

// forward lets the upstream answer. lane is the lane that could not answer, or nil. If the lane becomes ready while the
// request waits for its seat, forward tries once more to answer from the lane.
func (s *Server) forward(ctx context.Context, out *reply, q *Request, lane Lane) error {
	if !isCanonical(q.url.Path) {
		return errNoRoute // a watch by a name that no object can have, in a representation that the cache does not offer
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
		cached = lane.Store().Stats().ObjectBytes
	}
	seat, err := s.limiter.forwardSeat(ctx, q, cached)
	if err == nil && q.Event.Reason == observe.NotReady && isReady(lane) {
		seat.leave()
		// Try only once: the lane may still lack the version that the request needs.
		if answered, err := s.again(ctx, out, q, lane); answered {
			return err
		}
		seat, err = s.limiter.forwardSeat(ctx, q, cached)
	}
	if err != nil {
		q.Event.Source = observe.FromFacade
		return err
	}
	defer seat.leave()
	q.Event.Source = observe.FromUpstream
	out.progress.Answering()
	defer q.Event.Waited(observe.Asking, q.Event.Waiting(observe.Asking))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read := upstream.BodyReader(seat.read)
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
	// The response has the upstream's values of these headers. Without this deletion, the client would get these headers
	// twice.
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
