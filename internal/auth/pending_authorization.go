package auth

import (
	"context"
	"math/rand/v2"
	"time"
)

// longestDoubt is how long an event waits at most for a review whose turn does not come, because many are in doubt at
// once: what somebody waits for goes first, so these are thousands.
const longestDoubt = 30 * time.Second

// Hold follows what was granted, until it is released. A right that has been lost since, or that the facade has not
// kept the verdict on, is reviewed before the first event.
func (r *Reviews) Hold(a Attributes) *WatchAuthorization {
	l := &WatchAuthorization{reviews: r, ended: make(chan struct{})}
	if a.Caller == nil {
		l.end()
		return l
	}
	if until := a.Caller.Until; !until.IsZero() && !time.Now().Before(until) {
		l.end()
		r.observer.WatchAuthorizationEnded(EndCredential)
		return l
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.heldBy(a)
	h := r.watches.decisions[q.hash]
	if h == nil {
		h = r.take(q)
	}
	l.held = h
	h.watches[l] = struct{}{}
	r.watches.count++
	if until := a.Caller.Until; !until.IsZero() {
		l.expiry = time.AfterFunc(time.Until(until), func() { r.expire(l) })
	}
	return l
}

// take begins to hold a decision.
func (r *Reviews) take(q question) *sharedDecision {
	who := r.people.refer(q.Caller)
	h := &sharedDecision{question: q, who: who, reviewed: !r.isOpen(q.Attributes), watches: map[*WatchAuthorization]struct{}{}, index: -1, stretch: 1 + 0.2*rand.Float64()}
	r.watches.decisions[q.hash] = h
	who.held[h] = struct{}{}
	v := r.verdicts.byHash[q.hash]
	switch {
	case !h.reviewed:
	case v != nil && v.allowed && who.trusts(true, v.asked):
		r.watches.schedule.put(h, r.watches.soon(), periodic)
	default:
		r.watches.doubts(h)
		r.watches.schedule.put(h, time.Now(), urgent)
	}
	r.hint()
	return h
}

// hint tells Run to look again.
func (r *Reviews) hint() {
	select {
	case r.wake <- struct{}{}:
	default: // it will
	}
}

func (r *Reviews) release(l *WatchAuthorization) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := l.held.watches[l]; !ok {
		return // ended or released before
	}
	l.stop()
	r.part(l)
}

// part takes a lease from what it stands on, which is forgotten with the last.
func (r *Reviews) part(l *WatchAuthorization) {
	h := l.held
	delete(h.watches, l)
	r.watches.count--
	if len(h.watches) > 0 {
		return
	}
	delete(r.watches.decisions, h.hash)
	delete(h.who.held, h)
	r.watches.schedule.remove(h)
	r.watches.believes(h)
	r.people.leave(h.who)
}

// expire ends a lease with its credential.
func (r *Reviews) expire(l *WatchAuthorization) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := l.held.watches[l]; !ok {
		return
	}
	r.endOne(l, EndCredential)
}

func (r *Reviews) endOne(l *WatchAuthorization, why Ending) {
	l.end()
	r.part(l)
	r.observer.WatchAuthorizationEnded(why)
}

// end ends all leases on a decision.
func (r *Reviews) end(h *sharedDecision, why Ending) {
	for l := range h.watches {
		r.endOne(l, why)
	}
}

// Held is how many leases there are, and on how many decisions.
func (r *Reviews) Held() (leases, decisions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watches.count, len(r.watches.decisions)
}

// settle waits until it is known whether a lease still stands.
func (r *Reviews) settle(ctx context.Context, l *WatchAuthorization) error {
	for {
		d := l.held.pending.Load()
		if d == nil || l.over.Load() {
			return l.stands()
		}
		left := r.patience(d)
		if left <= 0 {
			return nil
		}
		r.await(l.held)
		timer := time.NewTimer(left)
		select {
		case <-d.over:
		case <-l.ended:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// patience is how long an event still waits in doubt before that is looked at again; 0 when it waits no longer.
func (r *Reviews) patience(d *pendingAuthorization) time.Duration {
	waited, hold := time.Since(d.since), r.config.Watches.Hold
	switch {
	case waited < hold:
		return hold - waited
	case d.failed.Load() || r.trouble.isOn():
		return 0
	default:
		return min(askEvery, max(0, longestDoubt-waited))
	}
}

func (r *Reviews) await(h *sharedDecision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(h.watches) > 0 {
		r.watches.schedule.hurry(h)
	}
}
