package auth

import (
	"container/list"
	"crypto/sha256"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

// sharedDecision is a decision that any number of watches depend on.
type sharedDecision struct {
	question
	subject  *subject
	reviewed bool // false if no review is needed
	watches  map[*WatchAuthorization]struct{}
	// pending is set while events wait until the upstream confirms the permission. Only stores need Reviews.mu.
	pending    atomic.Pointer[pendingAuthorization]
	unanswered time.Time // start of the first unanswered review; zero after an answer
	stretch    float64   // factor of ErrorGrace, 1 to 1.2, so that not all watches end at the same time

	eventWaits bool // whether an event waits until the decision is confirmed; also set during a review

	priority priority // priority of the scheduled review
	at       time.Time
	index    int           // index in schedule.later; -1 outside
	queue    *list.List    // queue of due reviews; nil outside
	element  *list.Element // element in queue
}

type priority int

// Values of priority, highest first.
const (
	awaited    priority = iota // an event waits for the review
	urgent                     // permissions may have changed
	periodic                   // no change was observed
	priorities = iota
)

// turn is a set of priorities whose reviews wait for seats together. The review to send is chosen when there is a seat,
// so that a review that becomes urgent overtakes others.
type turn int

const (
	ofChanges turn = iota // awaited and urgent
	inPeriods             // periodic
	turns     = iota
)

func (t turn) rank() limit.Rank {
	if t == inPeriods {
		return limit.Last
	}
	return limit.First
}

// pendingAuthorization is a decision that waits for confirmation after a change of permissions.
type pendingAuthorization struct {
	since  time.Time     // time of the first change that is not confirmed yet
	failed atomic.Bool   // whether a review was sent and failed since the last change
	over   chan struct{} // closed when the decision is confirmed or dropped
}

// again returns a pendingAuthorization for another decision, with the same start and the same result so far.
func (p *pendingAuthorization) again() *pendingAuthorization {
	other := &pendingAuthorization{since: p.since, over: make(chan struct{})}
	other.failed.Store(p.failed.Load())
	return other
}

// watchAuthorizations is the state of all watch authorizations. Not safe for concurrent use.
type watchAuthorizations struct {
	config    WatchAuthorizationConfig
	decisions map[[sha256.Size]byte]*sharedDecision
	holders   holders
	schedule  schedule
	looks     []look
	waiting   [turns]bool // whether a goroutine waits for a seat, by turn
	count     int         // watch authorizations
}

// look is a scheduled second review of a change.
type look struct {
	at     time.Time
	change change
}

func newWatchAuthorizations(config WatchAuthorizationConfig) watchAuthorizations {
	return watchAuthorizations{config: config, decisions: map[[sha256.Size]byte]*sharedDecision{},
		holders: holders{}, schedule: newSchedule(config)}
}

func (w *watchAuthorizations) nextReview() time.Time {
	return time.Now().Add(time.Duration((0.8 + 0.4*rand.Float64()) * float64(w.config.Every)))
}

// suspend stops the events of all watches with this decision until it is confirmed. A newer change does not extend the
// maximum wait: a user who may change roles could otherwise delay the events of others without limit.
func (w *watchAuthorizations) suspend(d *sharedDecision) {
	if p := d.pending.Load(); p != nil {
		p.failed.Store(false)
		return
	}
	d.pending.Store(&pendingAuthorization{since: time.Now(), over: make(chan struct{})})
}

// confirm lets the events of all watches with this decision pass.
func (w *watchAuthorizations) confirm(d *sharedDecision) {
	d.eventWaits = false
	if old := d.pending.Swap(nil); old != nil {
		close(old.over)
	}
}
