package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/auth"
)

// answer is the step after authorization, such as the cache, a document or health. lane is the lane to read, or nil. It
// writes the response, or returns the route to the upstream.
type answer func(ctx context.Context, out *reply, q *Request, lane Lane) (route, error)

// handlerChain passes each request through the same steps in the same order, and completes its Event. about is the
// subject of the route's paths, and answer is the last step.
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

// process passes a request through the steps until it has a response or an error.
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

// identify waits for the request's turn, and authenticates the request.
func (s *Server) identify(ctx context.Context, out *reply, q *Request, r *http.Request) error {
	if err := s.turns.arrive(ctx, out, q); err != nil {
		return err
	}
	if err := s.authenticate(out, q, r); err != nil {
		return err
	}
	return s.turns.proceed(ctx, out, q)
}

// respond authorizes the request. Then the last step answers it, or the upstream does.
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

// enter authorizes the request, and opens the lane that it may read, if there is one. Only authorized callers receive
// errors about paths that are not canonical, and take seats that all callers share. If open returned a lane and also a
// route to the upstream, the lane answers if it is ready when the request has its seat.
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

// takeSeat takes a seat for a long-running request. A new seat may end another caller's watch, so only authorized
// requests get one. For that purpose the facade also authorizes forwarded requests. Requests that the upstream is about
// to refuse have separate seats. These are requests that the authorizer has routed to the upstream, or would deny. Any
// other error of the authorizer refuses the request, because it would otherwise run without a seat.
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

// recover turns a panic into a 500. If part of the response was sent already, it closes the connection. The process
// continues, and the stack is logged.
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
