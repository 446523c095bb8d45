package handlers

import (
	"math"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// lag notices that a watch is behind its lane: that since some moment it has had events which its client had not
// accepted. It is part of a guard, under whose lock it is used, and means nothing while its bound is 0.
type lag struct {
	bound time.Duration // what is said from this time on
	// tell is told how long the watch has been behind. It is called while a piece is being written, when nothing of what
	// the watch's goroutine uses changes.
	tell  func(behind time.Duration)
	since time.Time // when the oldest event that is not accepted began to be sent; zero when all are
	again time.Time // when it is told again; zero when it was not told yet
}

// begin begins a piece.
func (l *lag) begin(now time.Time) {
	if l.bound > 0 && l.since.IsZero() {
		l.since = now
	}
}

// caughtUp says that everything was accepted.
func (l *lag) caughtUp() { l.since, l.again = time.Time{}, time.Time{} }

// behind tells whether there may be something to notice.
func (l *lag) behind() bool { return !l.since.IsZero() }

// first is when to look after a piece has begun that is to be looked after in any case after a time.
func (l *lag) first(otherwise time.Duration) time.Duration {
	if l.bound > 0 {
		return min(l.bound, otherwise)
	}
	return otherwise
}

// lookAgain is after how long a watch is looked at again that was between two pieces.
const lookAgain = 10 * time.Millisecond

// look tells of a watch that is behind, and returns after how long to look again. It is told once in the bound's time.
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
	l.tell(now.Sub(l.since))
	l.again = now.Add(l.bound)
	return l.bound
}

// lagging tells of a watch that is behind, while its goroutine waits for the client.
func (s *Server) lagging(event *observe.Event, stream *watchStream, lane *reflector.Reflector, behind time.Duration) {
	event.Lagged = max(event.Lagged, behind)
	if s.follower == nil || stream.watcher == nil { // an error is all that there is to send
		return
	}
	by := observe.Lag{For: behind, Sent: stream.events.sent, SentRV: uint64(stream.watcher.Progress()), Initial: stream.watcher.Initial()}
	if state, err := lane.Cache.State(); err == nil {
		by.LaneRV = uint64(state.RV())
	}
	s.follower.Lagging(event, by)
}

// tellLag has a watch that is behind for longer than the bound told of, while it is; a bound of 0 has none.
func (o *reply) tellLag(bound time.Duration, tell func(behind time.Duration)) {
	if bound == 0 {
		return
	}
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag = lag{bound: bound, tell: tell}
}

// caughtUp says that the client has accepted all that there is.
func (o *reply) caughtUp() {
	guard := &o.out.guard
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.lag.caughtUp()
}
