package auth

import (
	"context"
	"encoding/binary"
	"time"

	"golang.org/x/sync/singleflight"
)

// ask sends a review, or joins one that is under way and was sent after the last change of the caller's permissions.
// The answer is cached even if no caller waits for it any longer. Until the answer, the review is in the queue of the
// first caller or has a seat, and no other caller can end it.
//
// Joining costs nothing. A caller above its pace waits before its review can be joined, so that no other caller waits.
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

// askLater asks when the pace of the caller permits it, unless others have received the answer meanwhile.
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

// recent returns the cached answer to a question if it is valid. It may be newer than the caller's last look-up.
// The caller holds mu.
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

// send sends a review that the pace of the caller permits, or joins one that is under way. The context bounds the wait
// for a seat only. The caller holds mu.
func (r *Reviews) send(ctx context.Context, key string, q question) <-chan singleflight.Result {
	r.underWay[key] = struct{}{}
	return r.flight.DoChan(key, func() (any, error) {
		defer r.sent(key)
		seat, err := r.takeSeat(ctx, q.Caller)
		if err != nil {
			return nil, err
		}
		defer seat.leave()
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		s, asked := r.begin(q)
		defer r.leave(s)
		status, err := r.reviewWithRetries(detached, q.Attributes, seat)
		if err != nil {
			return nil, err
		}
		reply := answerOf(status)
		r.keep(q, s, asked, reply)
		return reply, nil
	})
}

// sent ends a review that others could join. The next caller starts another one.
func (r *Reviews) sent(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.underWay, key)
	r.flight.Forget(key)
}

// flightOf returns the key of a question under review. The caller holds mu.
func (r *Reviews) flightOf(q question) string {
	var changed uint64
	if s := r.subjects[q.subject]; s != nil {
		changed = max(s.lost, s.gained)
	}
	return string(binary.BigEndian.AppendUint64(q.hash[:], changed))
}
