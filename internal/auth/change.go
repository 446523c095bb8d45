package auth

import (
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

type change struct {
	affected func(user.Info) bool
	lost     bool
}

// Gained records that users may have gained permissions: those for whom affected(user) is true. Their cached refusals
// are dropped. affected is called for every known subject, under a lock, and again after SecondLook.
func (r *Reviews) Gained(affected func(user.Info) bool) { r.changed(change{affected: affected}) }

// Lost records that users may have lost permissions: those for whom affected(user) is true (see Gained). Their cached
// decisions are dropped. After Lost returns, Check of their watch authorizations delays events until the upstream has
// confirmed the permission, but only for a limited time (patience), which further changes do not extend. A review that
// is under way still decides the requests that wait for it, or ends the watches that it refuses, but is not cached.
func (r *Reviews) Lost(affected func(user.Info) bool) {
	r.changed(change{affected: affected, lost: true})
}

func (r *Reviews) changed(c change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for s := range r.affected(c) {
		for d := range s.decisions {
			if c.lost && d.reviewed {
				r.watches.suspend(d)
				r.watches.schedule.put(d, now.Add(r.config.Watches.Debounce), urgent)
			}
		}
	}
	r.watches.looks = append(r.watches.looks, look{at: now.Add(r.config.Watches.SecondLook), change: c})
	r.hint()
}

// affected increases the epoch, which counts observed changes of permissions, and yields the affected subjects,
// marked with the new epoch. This epoch is not the epoch of a lane.
func (r *Reviews) affected(c change) func(func(*subject) bool) {
	r.epoch++
	return func(yield func(*subject) bool) {
		for _, s := range r.subjects {
			if !c.affected(s.info) {
				continue
			}
			if c.lost {
				s.lost = r.epoch
			} else {
				s.gained = r.epoch
			}
			if !yield(s) {
				return
			}
		}
	}
}

// lookAgain schedules the second reviews that are due (SecondLook): the upstream's authorizer may have answered the
// first review before it received the change. Events do not wait for second reviews. lookAgain returns the time until
// the next one is due, or a negative value if none is scheduled.
func (r *Reviews) lookAgain(now time.Time) time.Duration {
	for len(r.watches.looks) > 0 {
		first := r.watches.looks[0]
		if first.at.After(now) {
			return first.at.Sub(now)
		}
		r.watches.looks = r.watches.looks[1:]
		for s := range r.affected(first.change) {
			for d := range s.decisions {
				if first.change.lost && d.reviewed {
					r.watches.schedule.put(d, now, urgent)
				}
			}
		}
	}
	return -1
}
