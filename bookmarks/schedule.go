package bookmarks

import "time"

// DefaultInterval is the interval of kube-apiserver's bookmarks (semantics 4.3).
const DefaultInterval = time.Minute

const (
	// beforeDeadline is the time between the last scheduled bookmark of a watch and its deadline (semantics 4.3).
	beforeDeadline = 2 * time.Second
	// afterInitialEvents is the delay of the extra bookmark after a streaming list's initial events. kube-apiserver
	// sends this bookmark at the next tick of a timer of 1 s to 1.25 s that all watches share.
	afterInitialEvents = time.Second
	// tick is the precision of due times. kube-apiserver sends all bookmarks that are due in one second together
	// (semantics 4.3).
	tick = time.Second
)

// InitialEvents says whether an InitialEventsEnd bookmark must follow the initial events of a watch.
type InitialEvents int

const (
	// NoInitialEventsEnd is for a watch that gets only changes, or whose client did not request bookmarks after initial
	// events.
	NoInitialEventsEnd InitialEvents = iota
	// SendInitialEventsEnd is for a streaming list.
	SendInitialEventsEnd
)

// Options describe one watch.
type Options struct {
	// Start is the time when the watch began; not the zero time.
	Start time.Time
	// Deadline is the time when the watch ends; zero means never.
	Deadline time.Time
	// Interval is the time between bookmarks; zero or less means DefaultInterval.
	Interval time.Duration
	// InitialEvents says whether the watch is a streaming list.
	InitialEvents InitialEvents
	// Floor is the highest resourceVersion that needs no bookmark, usually the resourceVersion at which the watch
	// starts.
	Floor uint64
	// Phase is the part of a second at which bookmarks are due, from 0 to below 1 s. A bookmark is therefore due up to
	// a second earlier than the interval says. Watches of one connection need the same phase, because bookmarks that
	// are due at the same time share TLS records and system calls. Different connections need different phases, because
	// otherwise the bookmarks of all watches would be due at once.
	Phase time.Duration
}

type stage int

const (
	endOwed  stage = iota // the initial-events-end bookmark is still due
	settling              // the extra bookmark after the initial-events-end bookmark is still due
	steady                // one bookmark every interval and one before the deadline
)

// Schedule says when the next bookmark of one watch is due. In the zero value, no bookmark is ever due; use
// NewSchedule. It is not safe for concurrent use.
type Schedule struct {
	deadline time.Time
	interval time.Duration
	floor    uint64
	stage    stage
	phase    time.Duration
	next     time.Time // zero if no more bookmarks are due
}

// NewSchedule returns the schedule of one watch.
func NewSchedule(o Options) Schedule {
	s := Schedule{deadline: o.Deadline, interval: o.Interval, floor: o.Floor, phase: o.Phase, stage: steady}
	if s.interval <= 0 {
		s.interval = DefaultInterval
	}
	if o.InitialEvents == SendInitialEventsEnd {
		s.stage = endOwed
		s.next = o.Start
		return s
	}
	s.settle(o.Start)
	// In a watch of 2 to 3 s, the last tick may be before the start. The only bookmark of the watch is then due exactly
	// two seconds before the deadline.
	if last := o.Deadline.Add(-beforeDeadline); s.next.IsZero() && last.After(o.Start) {
		s.next = last
	}
	return s
}

// Next returns the time when the next bookmark is due; ok is false if no bookmark will be due again. An
// initial-events-end bookmark is due at the start of the watch: send it as soon as the initial events are written.
func (s *Schedule) Next() (due time.Time, ok bool) {
	return s.next, !s.next.IsZero()
}

// Take schedules the next bookmark when one is due. Its arguments are the current time, and the resourceVersion up to
// which every matching event has been written to the watch (I4). If send is true, the caller must write a bookmark of
// the returned kind at rv before anything else. send is false when nothing is due yet. It is also false when rv is not
// above the floor: such a bookmark is skipped, not delayed.
//
// While the initial-events-end bookmark is due, call Take only after all initial events were written. That bookmark is
// sent at any rv and however near the deadline (semantics 10.3).
func (s *Schedule) Take(now time.Time, rv uint64) (kind Kind, send bool) {
	if s.next.IsZero() || now.Before(s.next) {
		return Plain, false
	}
	switch s.stage {
	case endOwed:
		s.stage = settling
		s.floor = rv
		s.next = s.aligned(now.Add(afterInitialEvents))
		return InitialEventsEnd, true
	case settling, steady:
	}
	s.settle(now)
	return Plain, rv > s.floor
}

// Last reports whether a watch that ends now must send one more plain bookmark at rv. All matching events up to rv must
// have been written (I4). It returns false while the initial-events-end bookmark is due.
func (s *Schedule) Last(rv uint64) (send bool) {
	return s.stage != endOwed && rv > s.floor
}

func (s *Schedule) settle(now time.Time) {
	s.stage = steady
	s.next = s.aligned(now.Add(s.interval))
	if s.deadline.IsZero() {
		return
	}
	last := s.aligned(s.deadline.Add(-beforeDeadline))
	if !last.After(now) {
		s.next = time.Time{}
		return
	}
	if last.Before(s.next) {
		s.next = last
	}
}

// aligned returns the last time at or before t that has the phase. If the interval is below two ticks, it returns t, so
// that the next bookmark is always due in the future.
func (s *Schedule) aligned(t time.Time) time.Time {
	if s.interval < 2*tick {
		return t
	}
	return t.Add(-((time.Duration(t.UnixNano()) - s.phase) % tick))
}
