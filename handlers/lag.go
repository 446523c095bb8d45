package handlers

import (
	"math"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// lag detects that a watch lags behind its lane: the client has not accepted all sent events for some time. It is part
// of a guard, whose lock protects it. While bound is 0, it is not used.
type lag struct {
	bound time.Duration // how long a watch may be behind before notify is called
	// notify receives how long the watch has been behind. It is called while the goroutine of the watch writes a piece.
	// During that time, this goroutine changes nothing that notify reads.
	notify func(behind time.Duration)
	since  time.Time // when the oldest event that is not accepted was sent; zero if all events are accepted
	again  time.Time // earliest time of the next call of notify; zero before the first call
}

func (l *lag) begin(now time.Time) {
	if l.bound > 0 && l.since.IsZero() {
		l.since = now
	}
}

func (l *lag) caughtUp() { l.since, l.again = time.Time{}, time.Time{} }

func (l *lag) behind() bool { return !l.since.IsZero() }

// first returns the time from the start of a piece to the first call of look: the argument, or bound if bound is set
// and shorter.
func (l *lag) first(otherwise time.Duration) time.Duration {
	if l.bound > 0 {
		return min(l.bound, otherwise)
	}
	return otherwise
}

// lookAgain is the time until the next call of look if the watch was between two pieces.
const lookAgain = 10 * time.Millisecond

// look calls notify if the watch has been behind for longer than bound, and no more often than once per bound. It
// returns the time until the next call of look.
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

// notifyLag makes the guard call notify while the watch is behind for longer than bound; 0 means never.
func (o *reply) notifyLag(bound time.Duration, notify func(behind time.Duration)) {
	if bound == 0 {
		return
	}
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag = lag{bound: bound, notify: notify}
}

// caughtUp is called when the client has accepted all events.
func (o *reply) caughtUp() {
	o.endTurn()
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag.caughtUp()
}
