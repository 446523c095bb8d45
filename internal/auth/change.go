package auth

import (
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// change is one of rights that was seen: whose, and whether some may be gone.
type change struct {
	affected func(user.Info) bool
	lost     bool
}

// Gained says that rights have grown of those whom affected names: what they were refused is forgotten. affected is
// called for every identity that something is known of, under a lock, and once more after a while.
func (r *Reviews) Gained(affected func(user.Info) bool) { r.changed(change{affected: affected}) }

// Lost says that rights may have shrunk of those whom affected names, as in Gained: what is known of theirs is
// forgotten, and when it returns, no event passes the Check of their leases before the upstream has said again that it
// may. An answer that is on its way counts for whoever waits for it, and no longer.
func (r *Reviews) Lost(affected func(user.Info) bool) {
	r.changed(change{affected: affected, lost: true})
}

func (r *Reviews) changed(c change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for who := range r.affected(c) {
		for h := range who.held {
			if c.lost && h.reviewed {
				r.watches.doubts(h)
				r.watches.schedule.put(h, now.Add(r.config.Watches.Debounce), urgent)
			}
		}
	}
	r.watches.looks = append(r.watches.looks, look{at: now.Add(r.config.Watches.SecondLook), change: c})
	r.hint()
}

// affected begins an epoch, and yields whose rights have changed with it.
func (r *Reviews) affected(c change) func(func(*identity) bool) {
	r.epoch++
	return func(yield func(*identity) bool) {
		for _, who := range r.people {
			if !c.affected(who.caller.Info) {
				continue
			}
			if c.lost {
				who.lost = r.epoch
			} else {
				who.gained = r.epoch
			}
			if !yield(who) {
				return
			}
		}
	}
}

// lookAgain takes the second look at the changes whose time has come: the upstream's authorizer may have answered
// before it had learned of them. Nothing is held up for it. It returns after how long the next is due, or less than 0.
func (r *Reviews) lookAgain(now time.Time) time.Duration {
	for len(r.watches.looks) > 0 {
		first := r.watches.looks[0]
		if first.at.After(now) {
			return first.at.Sub(now)
		}
		r.watches.looks = r.watches.looks[1:]
		for who := range r.affected(first.change) {
			for h := range who.held {
				if first.change.lost && h.reviewed {
					r.watches.schedule.put(h, now, urgent)
				}
			}
		}
	}
	return -1
}
