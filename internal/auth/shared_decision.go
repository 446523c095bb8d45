package auth

import (
	"container/list"
	"crypto/sha256"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// held is one decision that leases stand on, however many.
type sharedDecision struct {
	question
	who      *identity
	reviewed bool // false of what needs no review
	watches  map[*WatchAuthorization]struct{}
	// doubt is not nil between a change that may have taken the right and the upstream's word. It is loaded without the
	// lock, and stored under it.
	pending    atomic.Pointer[pendingAuthorization]
	unanswered time.Time // when the first review was asked that none was answered after; zero while they are
	stretch    float64   // of its grace, 1 to 1.2: not all end at once

	priority priority // what it waits for
	at       time.Time
	index    int           // in the heap of those whose time has not come; -1 outside
	line     *list.List    // of those whose time has come; nil outside
	element  *list.Element // there
}

// turn says how soon a review is due, and on whose budget.
type priority int

// The turns, the first first.
const (
	awaited    priority = iota // an event waits for it
	urgent                     // rights have changed
	periodic                   // they may have, as ever
	priorities = iota
)

// doubt is the time between a change of rights and the upstream's word on what is left.
type pendingAuthorization struct {
	since  time.Time
	failed atomic.Bool   // whether the upstream could not be asked
	over   chan struct{} // closed when the word is there, or another change has come
}

// leases are what is held. Not safe for concurrent use.
type watchAuthorizations struct {
	config    WatchAuthorizationConfig
	decisions map[[sha256.Size]byte]*sharedDecision
	schedule  schedule
	looks     []look
	running   int // reviews on their way
	count     int // of leases
}

// look is a second look at a change, some time after the first.
type look struct {
	at     time.Time
	change change
}

func newWatchAuthorizations(config WatchAuthorizationConfig) watchAuthorizations {
	return watchAuthorizations{config: config, decisions: map[[sha256.Size]byte]*sharedDecision{}, schedule: newSchedule(config)}
}

// soon is when a decision that was just confirmed is reviewed again.
func (s *watchAuthorizations) soon() time.Time {
	return time.Now().Add(time.Duration((0.8 + 0.4*rand.Float64()) * float64(s.config.Every)))
}

// doubts lets nothing pass that stands on a decision, until it is reviewed.
func (s *watchAuthorizations) doubts(h *sharedDecision) {
	old := h.pending.Swap(&pendingAuthorization{since: time.Now(), over: make(chan struct{})})
	if old != nil {
		close(old.over)
	}
}

// believes ends the doubt.
func (s *watchAuthorizations) believes(h *sharedDecision) {
	if old := h.pending.Swap(nil); old != nil {
		close(old.over)
	}
}
