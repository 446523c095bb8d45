package auth

import (
	"container/list"
	"crypto/sha256"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// held is one decision that leases stand on, however many.
type held struct {
	question
	who      *identity
	reviewed bool // false of what needs no review
	leases   map[*Lease]struct{}
	// doubt is not nil between a change that may have taken the right and the upstream's word. It is loaded without the
	// lock, and stored under it.
	doubt      atomic.Pointer[doubt]
	unanswered time.Time // when the first review was asked that none was answered after; zero while they are
	stretch    float64   // of its grace, 1 to 1.2: not all end at once

	turn  turn // what it waits for
	at    time.Time
	index int           // in the heap of those whose time has not come; -1 outside
	line  *list.List    // of those whose time has come; nil outside
	place *list.Element // there
}

// turn says how soon a review is due, and on whose budget.
type turn int

// The turns, the first first.
const (
	awaited  turn = iota // an event waits for it
	urgent               // rights have changed
	periodic             // they may have, as ever
	turns    = iota
)

// doubt is the time between a change of rights and the upstream's word on what is left.
type doubt struct {
	since  time.Time
	failed atomic.Bool   // whether the upstream could not be asked
	over   chan struct{} // closed when the word is there, or another change has come
}

// leases are what is held. Not safe for concurrent use.
type leases struct {
	config   LeasesConfig
	held     map[[sha256.Size]byte]*held
	schedule schedule
	looks    []look
	running  int // reviews on their way
	count    int // of leases
}

// look is a second look at a change, some time after the first.
type look struct {
	at     time.Time
	change change
}

func newLeases(config LeasesConfig) leases {
	return leases{config: config, held: map[[sha256.Size]byte]*held{}, schedule: newSchedule(config)}
}

// soon is when a decision that was just confirmed is reviewed again.
func (s *leases) soon() time.Time {
	return time.Now().Add(time.Duration((0.8 + 0.4*rand.Float64()) * float64(s.config.Every)))
}

// doubts lets nothing pass that stands on a decision, until it is reviewed.
func (s *leases) doubts(h *held) {
	old := h.doubt.Swap(&doubt{since: time.Now(), over: make(chan struct{})})
	if old != nil {
		close(old.over)
	}
}

// believes ends the doubt.
func (s *leases) believes(h *held) {
	if old := h.doubt.Swap(nil); old != nil {
		close(old.over)
	}
}
