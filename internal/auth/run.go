package auth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// existenceInterval is how often Run checks whether the callers of watches still exist. A caller counts as deleted
	// if two checks in a row miss it, because the lookup may receive a new identity late.
	existenceInterval = 500 * time.Millisecond
	// retryPending and retryWatchReview are the delays before a failed review is retried, with and without events that
	// may wait for it.
	retryPending, retryWatchReview = time.Second, 10 * time.Second
)

// Run reviews watches until the context ends. It returns after the last review.
func (r *Reviews) Run(ctx context.Context) {
	var reviews sync.WaitGroup
	defer reviews.Wait()
	if r.config.Extras == DetectExtras && r.config.Metrics != nil {
		reviews.Go(func() { r.detect(ctx) })
	}
	look := time.NewTicker(existenceInterval)
	defer look.Stop()
	var after time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			r.endUnanswered()
			r.endMissing()
		case <-r.wake:
		case <-time.After(after): // Timer.Reset would make the runtime walk through the timers of all watches
		}
		var due [turns]bool
		due, after = r.due()
		for of, is := range due {
			if is {
				reviews.Go(func() { r.followNext(ctx, turn(of)) })
			}
		}
	}
}

// due returns the turns (sets of priorities) for which a goroutine must begin to wait for a seat, and the delay until
// the next check. At most one goroutine waits for each turn. Such a goroutine wakes Run when it has a seat.
func (r *Reviews) due() (starts [turns]bool, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	again = r.lookAgain(now)
	if again < 0 || again > existenceInterval {
		again = existenceInterval
	}
	due, after := r.watches.schedule.due(now)
	if after >= 0 && after < again {
		again = after
	}
	for of, is := range due {
		// During an outage, only one review per probeInterval is sent.
		if is && !r.watches.waiting[of] && (!r.trouble.isOn() || r.trouble.mayAsk()) {
			r.watches.waiting[of], starts[of] = true, true
		}
	}
	return starts, again
}

func (r *Reviews) followNext(ctx context.Context, of turn) {
	seat, err := r.config.Seats.take(ctx, watchesKey, of.rank())
	d, asked := r.takeDue(of, err == nil)
	if err != nil {
		return
	}
	defer seat.leave()
	if d != nil {
		r.follow(ctx, d, asked, seat)
	}
}

// takeDue records that the goroutine of a turn no longer waits for a seat. If the goroutine got a seat (seated),
// takeDue returns the next due decision and the current epoch. The decision is nil if none is due any longer.
func (r *Reviews) takeDue(of turn, seated bool) (*sharedDecision, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches.waiting[of] = false
	if !seated {
		return nil, 0
	}
	r.hint()
	d := r.watches.schedule.take(of, time.Now())
	if d != nil {
		r.subjects.refer(d.question) // the watches may be released before the review ends
	}
	return d, r.epoch
}

func (r *Reviews) follow(ctx context.Context, d *sharedDecision, asked uint64, seat *seat) {
	limited, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	status, err := r.attempt(limited, d.Attributes, ForWatch, seat)
	reply := answerOf(status)
	if err == nil {
		r.keep(d.question, d.subject, asked, reply)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subjects.leave(d.subject)
	r.hint()
	switch {
	case len(d.watches) == 0: // released during the review, or ended by its refusal
	case err != nil:
		r.unanswered(d, began)
	case !reply.allowed: // even if permissions changed during the review, so that changes cannot keep a watch open
		r.end(d, EndRevoked)
	case !d.subject.trusts(true, asked): // permissions changed during the review
		r.watches.schedule.put(d, time.Now().Add(r.config.Watches.Debounce), urgent)
	default:
		d.unanswered = time.Time{}
		r.watches.confirm(d)
		r.watches.schedule.put(d, r.watches.nextReview(), periodic)
	}
}

func (r *Reviews) unanswered(d *sharedDecision, asked time.Time) {
	if d.unanswered.IsZero() {
		d.unanswered = asked
	}
	if r.isOverdue(d, time.Since(d.unanswered)) {
		r.end(d, EndUnanswered)
		return
	}
	after := retryWatchReview
	if p := d.pending.Load(); p != nil {
		p.failed.Store(true)
		after = retryPending
	}
	r.watches.schedule.put(d, time.Now().Add(after), urgent)
}

func (r *Reviews) isOverdue(d *sharedDecision, unanswered time.Duration) bool {
	return unanswered >= time.Duration(d.stretch*float64(r.config.Watches.ErrorGrace))
}

// endUnanswered ends the watches whose decision could not be confirmed for ErrorGrace, because the upstream is down.
func (r *Reviews) endUnanswered() {
	unanswered := r.trouble.unansweredFor()
	if unanswered < r.config.Watches.ErrorGrace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.watches.decisions {
		if d.reviewed && r.isOverdue(d, unanswered) {
			r.end(d, EndUnanswered)
		}
	}
}

// endMissing ends the watches of deleted callers, and drops their cached decisions, except shared ones.
func (r *Reviews) endMissing() {
	if r.config.Exists == nil {
		return
	}
	for _, h := range r.holders() {
		missed := !r.config.Exists(h.caller.Info)
		if missed && h.missed {
			r.identityGone(h)
		}
		h.missed = missed
	}
}

func (r *Reviews) holders() []*holder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.watches.holders))
}

func (r *Reviews) identityGone(h *holder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	for s := range r.subjects.of(h.caller.key) {
		s.lost = r.epoch
	}
	for w := range h.watches {
		r.endOne(w, EndIdentity)
	}
}
