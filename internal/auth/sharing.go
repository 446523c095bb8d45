package auth

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// othersFor is how long decisions are not shared after an answer that RBAC alone cannot have given.
const othersFor = 10 * time.Minute

// period is the number of a period in which the tokens of a service account share decisions; 0 while they do not.
type period uint64

// String returns a text that is not a prefix of another period's text.
func (p period) String() string { return strconv.FormatUint(uint64(p), 10) + "|" }

// Sharing says whether the tokens of a service account share decisions.
type Sharing string

// Values of Sharing.
const (
	Shared Sharing = "shared"
	Apart  Sharing = "apart"
)

func (p period) state() Sharing {
	if p == 0 {
		return Apart
	}
	return Shared
}

// sharing is the state of ExtrasMode DetectExtras (docs/adr/0036-shared-decisions.md). Decisions are
// shared while checks of the authorizers succeed, and no review shows an authorizer that may look at the extra.
type sharing struct {
	now atomic.Uint64 // current period; only stores need Reviews.mu

	// Guarded by Reviews.mu.
	periods period    // number of periods so far
	others  time.Time // time of the last answer by an authorizer other than RBAC
	reason  string    // why decisions are not shared, as logged; empty while they are
}

// byOthers reports whether an answer shows that another authorizer than RBAC took part. RBAC gives a reason when it
// allows a request. It never denies a request. Without an opinion, it states only its errors.
func byOthers(status authorizationv1.SubjectAccessReviewStatus) bool {
	if status.Allowed || status.Denied {
		return status.Denied || !strings.HasPrefix(status.Reason, "RBAC: allowed by ")
	}
	return slices.ContainsFunc(strings.Split(status.Reason, "\n"), func(line string) bool {
		// Recent releases put the authorizer's name before its reason.
		_, unnamed, named := strings.Cut(line, ": ")
		return line != "" && !strings.HasPrefix(line, "RBAC: ") &&
			(!named || !strings.HasPrefix(unnamed, "RBAC: "))
	})
}

// isCurrent reports whether an answer to the question still counts: its period of sharing has not ended.
func (r *Reviews) isCurrent(q question) bool { return q.period == 0 || q.period == r.period() }

func (r *Reviews) period() period { return period(r.sharing.now.Load()) }

// noticeOthers ends sharing when an answer about a service account shows another authorizer. The caller holds mu.
func (r *Reviews) noticeOthers(q question, reply answer) {
	if !reply.byOthers || q.Caller.account == "" || r.config.Extras != DetectExtras {
		return
	}
	r.sharing.others = time.Now()
	r.keepApart("an authorizer other than RBAC took part in an access review")
}

// share begins a period of sharing, unless one is under way, or another authorizer answered within othersFor.
func (r *Reviews) share() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.period() != 0 || !r.sharing.others.IsZero() && time.Since(r.sharing.others) < othersFor {
		return
	}
	r.config.Log.Info("Sharing access decisions among the tokens of each service account")
	r.sharing.periods++
	r.sharing.reason = ""
	r.setPeriod(r.sharing.periods)
}

func (r *Reviews) stopSharing(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepApart(reason)
}

// keepApart is stopSharing for callers that hold mu. It logs each new reason.
func (r *Reviews) keepApart(reason string) {
	if r.sharing.reason != reason {
		r.sharing.reason = reason
		r.config.Log.Info("Deciding access for each token of a service account separately", zap.String("reason", reason))
	}
	if r.period() != 0 {
		r.setPeriod(0)
	}
}

// setPeriod begins a period, or ends the current one if p is 0. The caller holds mu.
func (r *Reviews) setPeriod(p period) {
	r.sharing.now.Store(uint64(p))
	r.observer.SharingChanged(p.state())
	r.regroup()
}

// regroup makes each open watch depend on the decision of the current period, which is reviewed soon. Events do not
// wait for that review, because no change of permissions was observed. The caller holds mu.
func (r *Reviews) regroup() {
	now := r.period()
	for _, d := range slices.Collect(maps.Values(r.watches.decisions)) {
		for w := range d.watches {
			a := d.Attributes
			a.Caller = w.holder.caller
			if q := newQuestion(a, now); q.hash != d.hash {
				r.move(w, q)
			}
		}
	}
	r.hint()
}

// move makes a watch depend on the decision of another question. Events that wait for a review of the old decision wait
// for one of the new decision. The caller holds mu.
func (r *Reviews) move(w *WatchAuthorization, q question) {
	from, to := w.decision.Load(), r.watches.decisions[q.hash]
	if to == nil {
		to = r.open(q)
		r.reviewSoon(to)
	}
	if p := from.pending.Load(); p != nil && to.pending.Load() == nil {
		to.pending.Store(p.again())
	}
	if to.unanswered.IsZero() {
		to.unanswered = from.unanswered
	}
	to.watches[w] = struct{}{}
	w.decision.Store(to)
	delete(from.watches, w)
	r.close(from)
}

// reviewSoon schedules a review of a new decision after Debounce, because permissions may have changed just now.
func (r *Reviews) reviewSoon(d *sharedDecision) {
	if d.reviewed {
		r.watches.schedule.put(d, time.Now().Add(r.config.Watches.Debounce), urgent)
	}
}
