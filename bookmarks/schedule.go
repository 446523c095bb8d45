package bookmarks

import "time"

// DefaultInterval is how often kube-apiserver sends a bookmark (semantics 4.3).
const DefaultInterval = time.Minute

const (
	// beforeDeadline is how long before its end a watch gets its last bookmark (semantics 4.3).
	beforeDeadline = 2 * time.Second
	// afterInitialEvents is when the extra bookmark after a streaming list's initial events is due. kube-apiserver sends
	// it with the next tick of a timer of 1 s to 1.25 s that all watches share; here each watch has its own second.
	afterInitialEvents = time.Second
)

// InitialEvents says whether a watch starts with the full state.
type InitialEvents int

const (
	// NotOwed is for a watch that gets changes only, or whose client did not ask for bookmarks after initial events.
	NotOwed InitialEvents = iota
	// Owed is for a streaming list: an InitialEventsEnd bookmark must follow the initial events.
	Owed
)

// Options describe one watch.
type Options struct {
	// Start is when the watch began; not the zero time.
	Start time.Time
	// Deadline is when the watch ends; zero means never.
	Deadline time.Time
	// Interval is the time between bookmarks; zero or less means DefaultInterval.
	Interval time.Duration
	// InitialEvents says whether the watch starts as a streaming list.
	InitialEvents InitialEvents
	// Floor is the resourceVersion that the client knows already, the requested one or that of the last replayed event,
	// whichever is higher. Plain bookmarks stay above it. The initial-events-end bookmark replaces it by its own.
	Floor uint64
}

// phase is where a watch stands.
type phase int

const (
	endOwed  phase = iota // the initial-events-end bookmark has not been taken yet
	settling              // it has, and the extra one is still to come
	steady                // one every interval and one before the deadline
)

// Schedule says when one watch's next bookmark is due. The zero value owes none, ever; NewSchedule makes the useful
// ones. Not safe for concurrent use.
type Schedule struct {
	deadline time.Time
	interval time.Duration
	floor    uint64
	phase    phase
	next     time.Time // zero: none is due any more
}

// NewSchedule makes the schedule of one watch.
func NewSchedule(o Options) Schedule {
	s := Schedule{deadline: o.Deadline, interval: o.Interval, floor: o.Floor, phase: steady}
	if s.interval <= 0 {
		s.interval = DefaultInterval
	}
	if o.InitialEvents == Owed {
		s.phase = endOwed
		s.next = o.Start
		return s
	}
	s.settle(o.Start)
	return s
}

// Next returns when the next bookmark is due; ok is false when none will be, ever. While an initial-events-end bookmark
// is owed it is the start of the watch: due as soon as the initial events are out.
func (s *Schedule) Next() (due time.Time, ok bool) {
	return s.next, !s.next.IsZero()
}

// Take is called at or after Next, and records that this bookmark is dealt with. now is the present, rv the
// resourceVersion up to which every matching event has been written to the watch (I4). When send is true the caller has
// to write a bookmark of that form at rv before anything else. send is false when nothing is due yet, and when there is
// nothing to tell because rv does not exceed what the client knew at the start; that bookmark is skipped, not delayed.
//
// While the initial-events-end bookmark is owed, Take must not be called before the initial events were written; they
// may be none. It is sent whatever rv and however near the deadline (semantics 10.3).
func (s *Schedule) Take(now time.Time, rv uint64) (form Kind, send bool) {
	if s.next.IsZero() || now.Before(s.next) {
		return Plain, false
	}
	switch s.phase {
	case endOwed:
		s.phase = settling
		s.floor = rv
		s.next = now.Add(afterInitialEvents)
		return InitialEventsEnd, true
	case settling, steady:
	}
	s.settle(now)
	return Plain, rv > s.floor
}

// Last tells whether a watch that ends now owes one more plain bookmark at rv, the resourceVersion up to which every
// matching event has been written (I4). It does not while initial events are: their end is no earlier for that.
func (s *Schedule) Last(rv uint64) (send bool) {
	return s.phase != endOwed && rv > s.floor
}

// settle plans the next bookmark of a watch that owes no particular one.
func (s *Schedule) settle(now time.Time) {
	s.phase = steady
	s.next = now.Add(s.interval)
	if s.deadline.IsZero() {
		return
	}
	last := s.deadline.Add(-beforeDeadline)
	if !last.After(now) {
		s.next = time.Time{}
		return
	}
	if last.Before(s.next) {
		s.next = last
	}
}
