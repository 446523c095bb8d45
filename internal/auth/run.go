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
	// maxLeaseReviews bounds the reviews on behalf of leases that are on their way: those of an upstream that hangs.
	maxLeaseReviews = 100
	// retryDoubt and retryLease are after how long a review that failed is tried again, if events wait for it or not.
	retryDoubt, retryLease = time.Second, 10 * time.Second
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
func (r *Reviews) next() (*held, uint64, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	again := r.lookAgain(now)
	if again < 0 || again > lookEvery {
		again = lookEvery
	}
	// An upstream that does not answer is asked now and then whether it does.
	if r.leases.running >= maxLeaseReviews || r.trouble.isOn() && (r.leases.schedule.idle(now) || !r.trouble.mayAsk()) {
		return nil, 0, again
	}
	h, after := r.leases.schedule.next(now)
	if h == nil {
		if after >= 0 && after < again {
			again = after
		}
		return nil, 0, again
	}
	r.leases.running++
	r.people.refer(h.Caller) // it may be released before the answer comes
	return h, r.epoch, 0
}

// follow reviews a decision that leases stand on.
func (r *Reviews) follow(ctx context.Context, h *held, asked uint64) {
	limited, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	status, err := r.attempt(limited, h.Attributes, ByLease)
	said := answer{allowed: allows(status), reason: status.Reason}
	if err == nil {
		r.keep(h.question, h.who, asked, said)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases.running--
	r.people.leave(h.who)
	r.hint()
	switch {
	case len(h.leases) == 0: // released meanwhile, or ended with a refusal
	case err != nil:
		r.unanswered(h, began, err)
	case !h.who.trusts(said.allowed, asked): // rights have changed since it was asked
		r.leases.schedule.put(h, time.Now().Add(r.config.Leases.Debounce), urgent)
	default:
		h.unanswered = time.Time{}
		r.leases.believes(h)
		r.leases.schedule.put(h, r.leases.soon(), periodic)
	}
}

// unanswered keeps a decision whose review failed, for a time. Events wait on if the upstream was not even asked.
func (r *Reviews) unanswered(h *held, asked time.Time, err error) {
	if h.unanswered.IsZero() {
		h.unanswered = asked
	}
	if r.isOverdue(h, time.Since(h.unanswered)) {
		r.end(h, EndUnanswered)
		return
	}
	after := retryLease
	if d := h.doubt.Load(); d != nil {
		if !isNotSent(err) {
			d.failed.Store(true)
		}
		after = retryDoubt
	}
	r.leases.schedule.put(h, time.Now().Add(after), urgent)
}

func (r *Reviews) isOverdue(h *held, unanswered time.Duration) bool {
	return unanswered >= time.Duration(h.stretch*float64(r.config.Leases.ErrorGrace))
}

// endUnanswered ends what has not been confirmed because the upstream answers nobody.
func (r *Reviews) endUnanswered() {
	unanswered := r.trouble.unansweredFor()
	if unanswered < r.config.Leases.ErrorGrace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.leases.held {
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
