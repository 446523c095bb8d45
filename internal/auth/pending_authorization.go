package auth

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxPendingWait is the maximum time that an event waits for a review. If the review fails, or during an outage, the
// maximum is Hold. Reviews with waiting events are sent first, so only thousands of them can cause a wait of this
// length.
const maxPendingWait = 30 * time.Second

// AuthorizeWatch returns a watch authorization for an allowed request. Release must be called. If the decision is not
// cached, or the permission may have been lost since, the permission is reviewed before the first event.
func (r *Reviews) AuthorizeWatch(a Attributes) *WatchAuthorization {
	w := &WatchAuthorization{reviews: r, ended: make(chan struct{})}
	if a.Caller == nil {
		w.end()
		return w
	}
	if until := a.Caller.Until; !until.IsZero() && !time.Now().Before(until) {
		w.end()
		r.observer.WatchAuthorizationEnded(EndCredential)
		return w
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.watchQuestion(a)
	d := r.watches.decisions[q.hash]
	if d == nil {
		d = r.take(q)
	}
	w.decision.Store(d)
	w.holder = r.watches.holders.add(w, a.Caller)
	d.watches[w] = struct{}{}
	r.watches.count++
	if until := a.Caller.Until; !until.IsZero() {
		w.expiry = time.AfterFunc(time.Until(until), func() { r.expire(w) })
	}
	return w
}

// open creates the shared decision of a question and schedules no review. The caller holds mu.
func (r *Reviews) open(q question) *sharedDecision {
	s := r.subjects.refer(q)
	d := &sharedDecision{question: q, subject: s, reviewed: !r.needsNoReview(q.Attributes),
		watches: map[*WatchAuthorization]struct{}{}, index: -1, stretch: 1 + 0.2*rand.Float64()}
	r.watches.decisions[q.hash] = d
	s.add(d)
	return d
}

// take creates the shared decision of a new watch's question, and schedules its review. The caller holds mu.
func (r *Reviews) take(q question) *sharedDecision {
	d := r.open(q)
	v := r.verdicts.byHash[q.hash]
	switch {
	case !d.reviewed:
	case v != nil && v.allowed && d.subject.trusts(true, v.asked):
		r.watches.schedule.put(d, r.watches.nextReview(), periodic)
	default:
		r.watches.suspend(d)
		r.watches.schedule.put(d, time.Now(), urgent)
	}
	r.hint()
	return d
}

func (r *Reviews) hint() {
	select {
	case r.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

func (r *Reviews) release(w *WatchAuthorization) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := w.decision.Load().watches[w]; !ok {
		return // already ended or released
	}
	w.stop()
	r.detach(w)
}

func (r *Reviews) detach(w *WatchAuthorization) {
	d := w.decision.Load()
	delete(d.watches, w)
	r.watches.holders.remove(w)
	r.watches.count--
	r.close(d)
}

// close drops a decision if no watch authorization depends on it.
func (r *Reviews) close(d *sharedDecision) {
	if len(d.watches) > 0 {
		return
	}
	delete(r.watches.decisions, d.hash)
	delete(d.subject.decisions, d)
	r.watches.schedule.remove(d)
	r.watches.confirm(d)
	r.subjects.leave(d.subject)
}

func (r *Reviews) expire(w *WatchAuthorization) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := w.decision.Load().watches[w]; !ok {
		return
	}
	r.endOne(w, EndCredential)
}

func (r *Reviews) endOne(w *WatchAuthorization, why Ending) {
	w.end()
	r.detach(w)
	r.observer.WatchAuthorizationEnded(why)
}

func (r *Reviews) end(d *sharedDecision, why Ending) {
	for w := range d.watches {
		r.endOne(w, why)
	}
}

// WatchAuthorizations returns the number of watch authorizations, and of the decisions that they share.
func (r *Reviews) WatchAuthorizations() (watches, decisions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watches.count, len(r.watches.decisions)
}

// settle waits until the pending authorization is confirmed or the watch ends, but not longer than patience allows. It
// returns nil if the watch may send the event.
func (r *Reviews) settle(ctx context.Context, w *WatchAuthorization) error {
	for {
		d := w.decision.Load()
		p := d.pending.Load()
		switch {
		case w.over.Load(), w.isConfirmedBy(d):
			return w.err()
		case p == nil: // the watch depends on another decision now
			continue
		}
		left := r.patience(p)
		if left <= 0 {
			return nil
		}
		r.await(d)
		timer := time.NewTimer(left)
		select {
		case <-p.over:
		case <-w.ended:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// patience returns how long the caller must wait before it checks again whether the event may be sent; 0 if the event
// may be sent now.
func (r *Reviews) patience(p *pendingAuthorization) time.Duration {
	waited, hold := time.Since(p.since), r.config.Watches.Hold
	switch {
	case waited < hold:
		return hold - waited
	case p.failed.Load() || r.trouble.isOn():
		return 0
	default:
		return min(probeInterval, max(0, maxPendingWait-waited))
	}
}

func (r *Reviews) await(d *sharedDecision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(d.watches) > 0 && r.watches.schedule.expedite(d) {
		r.hint()
	}
}
