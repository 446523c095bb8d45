package auth

import (
	"sync"
	"time"
)

const (
	// refusalLasts is how long the upstream must have refused reviews themselves (401, 403), and said nothing else, for
	// what it allowed before to hold no longer: a kube-apiserver that starts refuses everybody until it has read its
	// rules, and a token is read from its file again within a minute.
	refusalLasts = 30 * time.Second
	// askEvery is how far reviews are apart that find out whether the trouble is over.
	askEvery = time.Second
)

// trouble is why reviews say nothing at the moment, and since when. The times keep their monotonic readings. The zero
// value is no trouble.
type trouble struct {
	mu         sync.Mutex // guards the rest
	answered   time.Time  // when the last answer came
	unanswered time.Time  // when the first review was asked that none was answered after; zero while they are
	// refused is when the first review was refused, refusedAgain when the last was; zero while they are not.
	refused, refusedAgain time.Time
	asked                 time.Time // when the last one was asked on behalf of somebody who did not wait for it
}

func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answered = time.Now()
	t.unanswered, t.refused, t.refusedAgain = time.Time{}, time.Time{}, time.Time{}
}

// unansweredSince notes a review that was asked then and has no answer. One that was asked before the last answer came
// says nothing.
func (t *trouble) unansweredSince(asked time.Time) {
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

// refuses notes a review that was refused, and tells whether that has lasted.
func (t *trouble) refuses() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unanswered, t.refusedAgain = time.Time{}, time.Now()
	if t.refused.IsZero() {
		t.refused = t.refusedAgain
	}
	return t.lasts()
}

// isRefusal tells whether reviews have been refused for so long that it means something.
func (t *trouble) isRefusal() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lasts()
}

func (t *trouble) lasts() bool { return t.refusedAgain.Sub(t.refused) >= refusalLasts }

func (t *trouble) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.unanswered.IsZero() || !t.refused.IsZero()
}

// unansweredFor is 0 while reviews are answered, or refused.
func (t *trouble) unansweredFor() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unanswered.IsZero() {
		return 0
	}
	return time.Since(t.unanswered)
}

// mayAsk tells whether it is time to find out whether the trouble is over.
func (t *trouble) mayAsk() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.asked) < askEvery {
		return false
	}
	t.asked = time.Now()
	return true
}
