package auth

import (
	"sync"
	"time"
)

const (
	// refusalGrace is how long the upstream must refuse the reviews themselves (401, 403) before earlier permissions end.
	// A starting kube-apiserver refuses all requests until it has loaded its rules. A rotated token file is read again
	// within a minute.
	refusalGrace = 30 * time.Second
	// probeInterval is the interval of trial reviews during an outage. They detect that the upstream answers again.
	probeInterval = time.Second
)

// trouble records since when reviews are unanswered or refused. The zero value means that there is no trouble.
type trouble struct {
	mu         sync.Mutex // guards the fields below
	answered   time.Time  // time of the last answer
	unanswered time.Time  // start of the first unanswered review since the last answer; zero if none
	// refused and refusedAgain are the times of the first and the last refused review; zero if none is refused.
	refused, refusedAgain time.Time
	asked                 time.Time // time of the last trial review (probeInterval)
}

func (t *trouble) recordAnswer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = time.Now()
	t.unanswered, t.refused, t.refusedAgain = time.Time{}, time.Time{}, time.Time{}
}

// recordNoAnswer records that a review, sent at the given time, has no answer. It has no effect if another review has
// been answered since then.
func (t *trouble) recordNoAnswer(asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked.Before(t.answered) {
		return
	}
	t.refused, t.refusedAgain = time.Time{}, time.Time{}
	if t.unanswered.IsZero() {
		t.unanswered = asked
	}
}

// recordRefusal records a refused review, and reports whether refusals have lasted for refusalGrace.
func (t *trouble) recordRefusal() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unanswered, t.refusedAgain = time.Time{}, time.Now()
	if t.refused.IsZero() {
		t.refused = t.refusedAgain
	}
	return t.lasts()
}

func (t *trouble) isRefusal() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lasts()
}

func (t *trouble) lasts() bool { return t.refusedAgain.Sub(t.refused) >= refusalGrace }

func (t *trouble) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.unanswered.IsZero() || !t.refused.IsZero()
}

// unansweredFor returns how long reviews have been unanswered; 0 while they are answered or refused.
func (t *trouble) unansweredFor() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unanswered.IsZero() {
		return 0
	}
	return time.Since(t.unanswered)
}

// mayAsk reports whether the next trial review is due, and starts the next interval if so.
func (t *trouble) mayAsk() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.asked) < probeInterval {
		return false
	}
	t.asked = time.Now()
	return true
}
