package handlers

import (
	"math"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// lag detects that a watch is behind its lane: its client has not accepted all sent events for some time. It is part of
// a guard and protected by the guard's lock. It is not used while its bound is 0.
type lag struct {
	bound time.Duration // how long a watch may be behind before notify is called
	// notify receives how long the watch has been behind. It is called while a piece is being written. During that
	// time, the goroutine of the watch changes nothing that notify reads.
	notify func(behind time.Duration)
	since  time.Time // start of sending the oldest event that is not accepted; zero if all are
	again  time.Time // earliest time of the next call of notify; zero before the first call
}

// begin starts a piece.
func (l *lag) begin(now time.Time) {
	if l.bound > 0 && l.since.IsZero() {
		l.since = now
	}
}

// caughtUp means that the client has accepted all events.
func (l *lag) caughtUp() { l.since, l.again = time.Time{}, time.Time{} }

// behind reports whether some events are not accepted.
func (l *lag) behind() bool { return !l.since.IsZero() }

// first returns how long after the start of a piece to call look: at most the bound, and at most the given time.
func (l *lag) first(otherwise time.Duration) time.Duration {
	if l.bound > 0 {
		return min(l.bound, otherwise)
	}
	return otherwise
}

// lookAgain is how soon look is called again for a watch that was between two pieces.
const lookAgain = 10 * time.Millisecond

// look calls notify if the watch has been behind for longer than bound, and no more often than that. It returns when to
// call look again.
func (l *lag) look(now time.Time, writing bool) time.Duration {
	if !l.behind() {
		return math.MaxInt64
	}
	due := l.since.Add(l.bound)
	if due.Before(l.again) {
		due = l.again
	}
	switch {
	case now.Before(due):
		return due.Sub(now)
	case !writing:
		return lookAgain
	}
	l.notify(now.Sub(l.since))
	l.again = now.Add(l.bound)
	return l.bound
}

// lagging notifies the Observer of a watch that is behind, while the watch's goroutine waits for the client.
func (s *Server) lagging(event *observe.Event, stream *watchStream, lane Lane, behind time.Duration) {
	event.Lagged = max(event.Lagged, behind)
	if stream.watcher == nil { // the stream consists of an error only
		return
	}
	by := observe.Lag{For: behind, Sent: stream.events.sent, SentRV: uint64(stream.watcher.Progress()),
		Initial: stream.watcher.Initial()}
	if state, err := lane.Store().State(); err == nil {
		by.LaneRV = uint64(state.RV())
	}
	s.observer.Lagging(event, by)
}

// notifyLag makes the guard call notify while a watch is behind for longer than the bound; 0 disables the calls.
func (o *reply) notifyLag(bound time.Duration, notify func(behind time.Duration)) {
	if bound == 0 {
		return
	}
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag = lag{bound: bound, notify: notify}
}

// caughtUp records that the client has accepted all events.
func (o *reply) caughtUp() {
	o.endTurn()
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag.caughtUp()
}
