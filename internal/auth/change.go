package auth

import (
	"iter"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// Affected has a function for each namespace whose requests a change may affect. The function reports whether a user is
// affected. The namespace is that of the reviewed attributes. "" stands for all requests: those in each namespace, over
// all namespaces and without a namespace.
type Affected = map[string]func(user.Info) bool

type change struct {
	affected Affected
	lost     bool
}

// Gained records that users may have gained permissions in some namespaces. Their cached refusals there are dropped.
// Each function is called for every known user of its namespace, under a lock, and again after SecondLook.
func (r *Reviews) Gained(affected Affected) { r.changed(change{affected: affected}) }

// Lost records that users may have lost permissions in some namespaces (see Gained). Their cached decisions there are
// dropped. After Lost returns, Check of the affected watch authorizations delays events until the upstream has
// confirmed the permission. This delay is limited (patience), and further changes do not extend it. The answer to a
// review that is under way is not cached. It still decides the requests that wait for it. If the review is for watches,
// its refusal ends them.
func (r *Reviews) Lost(affected Affected) {
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
// marked with the new epoch. It may yield a subject twice. This epoch is not the epoch of a lane.
func (r *Reviews) affected(c change) iter.Seq[*subject] {
	r.epoch++
	return func(yield func(*subject) bool) {
		for namespace, affects := range c.affected {
			for s := range r.subjects.affected(namespace, affects) {
				if !yield(c.mark(s, r.epoch)) {
					return
				}
			}
		}
	}
}

func (c change) mark(s *subject, epoch uint64) *subject {
	if c.lost {
		s.lost = epoch
	} else {
		s.gained = epoch
	}
	return s
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
