package auth

import (
	"context"
	"encoding/binary"
	"time"

	"golang.org/x/sync/singleflight"
)

// ask sends a review, or joins one that began after the last change of the caller's permissions. The review continues
// when its callers leave. It waits for a seat in the queue of its first caller.
//
// Joining a review does not count against the rate of the caller (ShareRate). A caller above its rate waits before the
// review. Other callers cannot join this wait, so it does not delay them.
func (r *Reviews) ask(ctx context.Context, q question) <-chan singleflight.Result {
	ctx = context.WithoutCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if reply, ok := r.recent(q); ok {
		return answered(reply)
	}
	key := r.flightOf(q)
	if _, ok := r.underWay[key]; ok || r.paces.TryTake(seatKey(q.Caller)) {
		return r.send(ctx, key, q)
	}
	return r.flight.DoChan(key+"|"+q.Caller.Share(), func() (any, error) { return r.askLater(ctx, q) })
}

// askLater waits until the rate of the caller permits a question, and then sends or joins its review. It sends none if
// the answer has been cached meanwhile.
func (r *Reviews) askLater(ctx context.Context, q question) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Seats.wait())
	defer cancel()
	if err := r.takePace(ctx, q.Caller); err != nil {
		return nil, err
	}
	result := <-func() <-chan singleflight.Result {
		r.mu.Lock()
		defer r.mu.Unlock()
		if reply, ok := r.recent(q); ok {
			return answered(reply)
		}
		return r.send(ctx, r.flightOf(q), q)
	}()
	return result.Val, result.Err
}

// recent returns the cached answer to a question if it is valid. The caller holds mu.
func (r *Reviews) recent(q question) (answer, bool) {
	v := r.verdicts.byHash[q.hash]
	if !q.kept || v == nil || !v.subject.trusts(v.allowed, v.asked) || time.Since(v.made) >= r.ttl(v.allowed) {
		return answer{}, false
	}
	return answer{allowed: v.allowed, reason: v.reason.Value()}, true
}

func answered(reply answer) <-chan singleflight.Result {
	result := make(chan singleflight.Result, 1)
	result <- singleflight.Result{Val: reply}
	return result
}

// send sends a review that the rate of the caller permits, or joins one that is under way. The context only bounds the
// wait for a seat. The caller holds mu.
func (r *Reviews) send(ctx context.Context, key string, q question) <-chan singleflight.Result {
	r.underWay[key] = struct{}{}
	return r.flight.DoChan(key, func() (any, error) {
		var s *subject // nil until the review begins
		defer func() { r.finish(key, s) }()
		seat, err := r.takeSeat(ctx, q.Caller)
		if err != nil {
			return nil, err
		}
		defer seat.leave()
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		var asked uint64
		s, asked = r.begin(q)
		status, err := r.reviewWithRetries(detached, q.Attributes, seat)
		if err != nil {
			return nil, err
		}
		reply := answerOf(status)
		r.keep(q, s, asked, reply)
		return reply, nil
	})
}

// finish ends the flight of a review. If the review began, finish also removes the reference to its subject. Both
// happen under one lock. Without the subject, flightOf would not find a change of permissions during the review, and a
// later caller could join this review.
func (r *Reviews) finish(key string, s *subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.underWay, key)
	r.flight.Forget(key)
	if s != nil {
		r.subjects.leave(s)
	}
}

// flightOf returns the key by which callers join a review. The key changes when permissions change. The caller holds
// mu.
func (r *Reviews) flightOf(q question) string {
	var changed uint64
	if s := r.subjects.find(q); s != nil {
		changed = max(s.lost, s.gained)
	}
	return string(binary.BigEndian.AppendUint64(q.hash[:], changed))
}
