package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// answer is the station behind the authorizer: the cache, a document, health ... lane is what may be read, nil where
// there is none to read. A *forwardError lets the upstream answer.
type answer func(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error

// road takes every request through the same stations, in the same order, and ends with its Event. about says what the
// route's paths are about, answer who gives the answer.
func (s *Server) handlerChain(about subject, answer answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out := newReply(w, r, s.log, s.times.write)
		out.yamlSeats, out.precompressed, out.follower = s.yamlSeats, s.precompressed, s.follower
		s.inflight.Enter(&out.progress)
		defer s.inflight.Leave(&out.progress) // not before it was told of: that may have to wait for the audit log
		defer func() { s.sink.Done(out.finish()) }()
		defer s.left(out)
		defer s.recover(out)
		defer out.leave()
		err := s.travel(out, r, about, answer)
		if err == nil {
			err = out.stay()
		}
		if err != nil {
			out.fail(err)
		}
	}
}

// travel is the way from station to station.
func (s *Server) travel(out *reply, r *http.Request, about subject, answer answer) error {
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
	if err := s.authenticate(out, q, r); err != nil {
		return err
	}
	out.progress.Known()
	if err := s.received(q); err != nil {
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
	s.entered(out)
	lane, err := s.enter(ctx, out, q)
	if err == nil {
		err = answer(ctx, out, q, lane)
	}
	err = s.orForward(ctx, out, q, lane, err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return errTimeUp
	case err != nil && out.displaced.Load():
		return tooMany(0)
	}
	return err
}

// received tells that it is known who asks.
func (s *Server) received(q *Request) error {
	if s.follower == nil {
		return nil
	}
	return s.follower.Received(q.Event)
}

// enter asks the authorizer, and opens the lane that the request may read, if there is one. What a path means that is
// not straight is said only to those who may ask, and only they take of what all callers share of watches.
func (s *Server) enter(ctx context.Context, out *reply, q *Request) (*reflector.Reflector, error) {
	refused := s.authorization.authorize(ctx, q)
	var forward *forwardError
	if refused != nil && !errors.As(refused, &forward) {
		return nil, refused
	}
	if err := s.resolver.canonicalize(ctx, q); err != nil {
		return nil, err
	}
	if err := s.takeSeat(ctx, out, q, refused); err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return s.authorization.open(ctx, q)
}

// takeSeat takes a place for a request that runs long. Requests that are passed through need no review, but a place
// may end the watch of another caller, so it is given only to callers whose right is known. The upstream is about to
// refuse the others: they take places among themselves. Any other error of the authorizer refuses the request, because
// it could run without a place else.
func (s *Server) takeSeat(ctx context.Context, out *reply, q *Request, refused error) error {
	if q.subject.own() || !q.runsLong() {
		return nil
	}
	if refused == nil && q.Attributes.PassedThrough {
		refused = s.resolver.mayRead(ctx, q)
	}
	var forward *forwardError
	switch {
	case refused == nil:
		return s.limiter.open(ctx, out, q)
	case auth.IsDenied(refused), errors.As(refused, &forward):
		return s.limiter.openRefused(out, q)
	}
	return refused
}

// recover turns a panic into a 500 for one client, or breaks its connection off when it has part of an answer already;
// the process lives, and the stack is in the log.
func (s *Server) recover(out *reply) {
	reason := recover()
	if reason == nil {
		return
	}
	if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		if out.r.Context().Err() == nil { // else the client was gone before
			out.event.Panicked = fmt.Sprint(reason)
		}
		panic(reason) // a body that broke off: net/http aborts the connection
	}
	s.log.Error("a request panicked", zap.Any("reason", reason), zap.String("auditID", out.event.AuditID),
		zap.Stack("stack"))
	out.event.Panicked = fmt.Sprint(reason)
	out.fail(fmt.Errorf("panic: %v", reason))
}

// forwardError says that the upstream has to answer this one: the cache could not, or could not prove that it may.
type forwardError struct{ reason observe.Reason }

func (e *forwardError) Error() string { return "to be answered by the upstream: " + string(e.reason) }

func forwardFor(reason observe.Reason) error { return &forwardError{reason: reason} }
