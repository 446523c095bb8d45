package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/auth"
)

// answer is the step after authorization, such as the cache, a document or health. It writes the response, or returns
// the route to the upstream. lane is the lane to read; nil if the request reads no lane.
type answer func(ctx context.Context, out *reply, q *Request, lane Lane) (route, error)

// handlerChain returns the handler for paths with the given subject and last step. It passes each request through the
// same steps in the same order, and completes its Event.
func (s *Server) handlerChain(about subject, answer answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out := newReply(w, r, s.log, s.times.write)
		out.yamlSeats, out.precompressed, out.observer = s.yamlSeats, s.precompressed, s.observer
		s.observer.Began(out.event)
		defer func() { s.observer.Done(out.finish()) }()
		defer s.recover(out)
		defer out.leave()
		err := s.process(out, r, about, answer)
		if err == nil {
			err = out.finishLongRunning()
		}
		if err != nil {
			out.fail(err)
		}
	}
}

func (s *Server) process(out *reply, r *http.Request, about subject, answer answer) error {
	if err := s.drainCheck.enter(out); err != nil {
		return err
	}
	q, err := s.resolver.resolve(r, about, out.event)
	if err != nil {
		return err
	}
	ctx, cancel := q.bounded(r.Context())
	out.atEnd(func() { cancel(nil) })
	out.cancel, out.watches = cancel, q.isWatch()
	out.until, _ = ctx.Deadline()
	if err := s.identify(ctx, out, q, r); err != nil {
		return err
	}
	out.progress.Known()
	if err := s.observer.Received(q.Event); err != nil {
		return err
	}
	switch {
	case impersonates(q.header):
		return errImpersonation
	case !q.allowsMethod():
		return errMethod
	case upgrades(q.header) && !q.overWebsocket():
		return errUpgrade
	}
	if err := s.limiter.admit(ctx, out, q); err != nil {
		return err
	}
	if isReview(q) {
		if err := q.readReview(r.Body); err != nil {
			return err
		}
	}
	s.resolver.discover(ctx, q, r)
	q.Event.Admitted = true
	s.observer.Admitted(q.Event)
	err = s.respond(ctx, out, q, answer)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return errTimeUp
	case err != nil && out.displaced.Load():
		return tooMany(0)
	}
	return err
}

// identify authenticates the request. A long-running request first waits for its turn (turns.go).
func (s *Server) identify(ctx context.Context, out *reply, q *Request, r *http.Request) error {
	if err := s.turns.arrive(ctx, out, q); err != nil {
		return err
	}
	if err := s.authenticate(out, q, r); err != nil {
		return err
	}
	return s.turns.proceed(ctx, out, q)
}

// respond authorizes the request. Then the last step or the upstream answers the request.
func (s *Server) respond(ctx context.Context, out *reply, q *Request, answer answer) error {
	lane, to, err := s.enter(ctx, out, q)
	if err == nil && !to.forwards() {
		to, err = answer(ctx, out, q, lane)
	}
	if err != nil || !to.forwards() {
		return err
	}
	q.Event.Reason = to.reason
	if err := s.mayForward(ctx, q); err != nil {
		return err
	}
	return s.forward(ctx, out, q, lane)
}

// enter authorizes the request, takes the seat of a long-running request, and opens the lane, if there is one. Errors
// about paths that are not canonical follow the authorization, because only authorized callers receive them. If open
// returns both a lane and a route to the upstream, forward may still answer from the lane.
func (s *Server) enter(ctx context.Context, out *reply, q *Request) (Lane, route, error) {
	to, err := s.authorization.authorize(ctx, q)
	if err != nil {
		return nil, route{}, err
	}
	if err := s.resolver.canonicalize(ctx, q); err != nil {
		return nil, route{}, err
	}
	if err := s.takeSeat(ctx, out, q, to); err != nil {
		return nil, route{}, err
	}
	if err := s.turns.proceed(ctx, out, q); err != nil {
		return nil, route{}, err
	}
	if !to.forwards() {
		to = s.shardRoute(ctx, q)
	}
	if to.forwards() {
		return nil, to, nil
	}
	return s.authorization.open(ctx, q)
}

// takeSeat takes a seat for a long-running request. A new seat may end another caller's watch, so the facade authorizes
// the request first, even if the request is forwarded. A request that is not allowed gets a separate seat
// (openRefused), and the upstream refuses it. Any other error of the authorizer refuses the request.
func (s *Server) takeSeat(ctx context.Context, out *reply, q *Request, to route) error {
	if q.subject.own() || !q.runsLong() {
		return nil
	}
	if to.forwards() {
		return s.limiter.openRefused(out, q)
	}
	if q.Attributes.PassedThrough {
		switch err := s.resolver.mayRead(ctx, q); {
		case auth.IsDenied(err):
			return s.limiter.openRefused(out, q)
		case err != nil:
			return err
		}
	}
	return s.limiter.open(ctx, out, q)
}

// recover turns a panic into a 500 and logs the stack. If a part of the response was already sent, the response is
// broken off. The process continues.
func (s *Server) recover(out *reply) {
	reason := recover()
	if reason == nil {
		return
	}
	if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if out.r.Context().Err() == nil { // otherwise the client closed the connection first
			out.event.Panicked = fmt.Sprint(reason)
		}
		panic(reason) // net/http aborts the connection, because the body is incomplete
	}
	s.log.Error("Request panicked", zap.Any("reason", reason), zap.String("auditID", out.event.AuditID),
		zap.Stack("stack"))
	out.event.Panicked = fmt.Sprint(reason)
	out.fail(fmt.Errorf("panic: %v", reason))
}
