package auth

import (
	"context"
	"sync"
	"time"
)

const (
	// lookEvery is how often it is looked whether those who hold leases still exist. Who was missed is looked for once
	// more: what knows of those who are there may not know of one that was just made.
	lookEvery = 500 * time.Millisecond
	// maxWatchReviews bounds the reviews on behalf of leases that are on their way: those of an upstream that hangs.
	maxWatchReviews = 100
	// retryDoubt and retryWatchReview are after how long a review that failed is tried again, if events wait for it or
	// not.
	retryDoubt, retryWatchReview = time.Second, 10 * time.Second
)

// Run follows leases until the context ends, and returns when nothing of it is left.
func (r *Reviews) Run(ctx context.Context) {
	var reviews sync.WaitGroup
	defer reviews.Wait()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			r.endUnanswered()
			r.endMissing()
		case <-r.wake:
		case <-next.C:
		}
		for {
			h, asked, after := r.next()
			if h == nil {
				next.Reset(after)
				break
			}
			reviews.Go(func() { r.follow(ctx, h, asked) })
		}
	}
}

// next returns what is to be reviewed now, and the epoch; or nil, and after how long to look again.
func (r *Reviews) next() (*sharedDecision, uint64, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	again := r.lookAgain(now)
	if again < 0 || again > lookEvery {
		again = lookEvery
	}
	// An upstream that does not answer is asked now and then whether it does.
	if r.watches.running >= maxWatchReviews || r.trouble.isOn() && (r.watches.schedule.idle(now) || !r.trouble.mayAsk()) {
		return nil, 0, again
	}
	h, after := r.watches.schedule.next(now)
	if h == nil {
		if after >= 0 && after < again {
			again = after
		}
		return nil, 0, again
	}
	r.watches.running++
	r.people.refer(h.Caller) // it may be released before the answer comes
	return h, r.epoch, 0
}

// follow reviews a decision that leases stand on.
func (r *Reviews) follow(ctx context.Context, h *sharedDecision, asked uint64) {
	limited, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	status, err := r.attempt(limited, h.Attributes, ByWatchAuthorization)
	said := answer{allowed: allows(status), reason: status.Reason}
	if err == nil {
		r.keep(h.question, h.who, asked, said)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches.running--
	r.people.leave(h.who)
	r.hint()
	switch {
	case len(h.watches) == 0: // released meanwhile, or ended with a refusal
	case err != nil:
		r.unanswered(h, began, err)
	case !h.who.trusts(said.allowed, asked): // rights have changed since it was asked
		r.watches.schedule.put(h, time.Now().Add(r.config.Watches.Debounce), urgent)
	default:
		h.unanswered = time.Time{}
		r.watches.believes(h)
		r.watches.schedule.put(h, r.watches.soon(), periodic)
	}
}

// unanswered keeps a decision whose review failed, for a time. Events wait on if the upstream was not even asked.
func (r *Reviews) unanswered(h *sharedDecision, asked time.Time, err error) {
	if h.unanswered.IsZero() {
		h.unanswered = asked
	}
	if r.isOverdue(h, time.Since(h.unanswered)) {
		r.end(h, EndUnanswered)
		return
	}
	after := retryWatchReview
	if d := h.pending.Load(); d != nil {
		if !isNotSent(err) {
			d.failed.Store(true)
		}
		after = retryDoubt
	}
	r.watches.schedule.put(h, time.Now().Add(after), urgent)
}

func (r *Reviews) isOverdue(h *sharedDecision, unanswered time.Duration) bool {
	return unanswered >= time.Duration(h.stretch*float64(r.config.Watches.ErrorGrace))
}

// endUnanswered ends what has not been confirmed because the upstream answers nobody.
func (r *Reviews) endUnanswered() {
	unanswered := r.trouble.unansweredFor()
	if unanswered < r.config.Watches.ErrorGrace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.watches.decisions {
		if h.reviewed && r.isOverdue(h, unanswered) {
			r.end(h, EndUnanswered)
		}
	}
}

// endMissing ends the leases of those who are no more, and forgets what they might do.
func (r *Reviews) endMissing() {
	if r.config.Exists == nil {
		return
	}
	for _, who := range r.holders() {
		missed := !r.config.Exists(who.caller.Info)
		if missed && who.missed {
			r.goes(who)
		}
		who.missed = missed
	}
}

// holders are those who hold leases.
func (r *Reviews) holders() []*identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*identity
	for _, who := range r.people {
		if len(who.held) > 0 {
			all = append(all, who)
		}
	}
	return all
}

func (r *Reviews) goes(who *identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	who.lost = r.epoch
	for h := range who.held {
		r.end(h, EndIdentity)
	}
}
