package observe

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress is the part of a request in flight that other goroutines read. The request's goroutine updates it without
// locks until the request ends. Follow initializes the zero Progress.
//
// Readers may read only settled fields of the Event. Known and Answering mark fields as settled.
type Progress struct {
	event  *Event
	links         // position in the list of requests in flight
	cursor Cursor // position of a watch that the cache answers; settled by Answering

	settled atomic.Uint32 // a phase
	pause   atomic.Int64  // current pause and its start (see packed); 0 if the request is not paused
	rested  atomic.Int64  // pause at the last charge if the watch rested then; 0 otherwise
	outer   int64         // the pause that a write interrupts; used only by the request's goroutine
	paused  atomic.Int64  // nanoseconds of pauses that have ended
	spent   atomic.Int64  // nanoseconds of writes that are work, not waiting
	woken   atomic.Int64  // when Wakes was last called, in nanoseconds since the request began
	bytes   atomic.Int64  // bytes sent of the body
	events  atomic.Int64  // events sent by a watch

	charging sync.Mutex // guards charged and over
	charged  Cost
	over     bool // the complete cost is charged
}

// Cursor is the position of a watch in its lane. Its methods are safe for concurrent use.
type Cursor interface {
	// Position returns the resourceVersion up to which the watch has received all events that it selects.
	Position() uint64
	// Behind returns the approximate number of events that the watch has not received yet.
	Behind() int64
}

// phase is the set of fields of an Event that are settled: complete, and safe to read.
type phase = uint32

const (
	arrived   phase = iota // the fields that are set before the request is parsed
	known                  // additionally the caller and the fields of the path
	answering              // additionally Plan, Source, Reason, Discovered and Selector
)

// Follow connects the Progress with an Event.
func (p *Progress) Follow(e *Event) {
	p.event, e.Progress = e, p
}

// Known settles the User and the fields of the path.
func (p *Progress) Known() { p.settled.Store(known) }

// Answering settles Plan, Source, Reason, Discovered and Selector. It is called when the response begins.
func (p *Progress) Answering() { p.settled.Store(answering) }

// Watching is called instead of Answering for a watch that the cache answers.
func (p *Progress) Watching(at Cursor) {
	p.cursor = at
	p.Answering()
}

// A pause is the value of pauseOf for a Step, or one of these values.
const (
	noPause = 0
	resting = int64(steps) + 1 // a watch has sent all events
	writing = int64(steps) + 2 // waits for the client to accept bytes
)

func pauseOf(step Step) int64 { return int64(step) + 1 }

// pauseBits is the number of bits for the pause. The other bits are the start of the pause, in nanoseconds since the
// request began, and are enough for a year.
const pauseBits = 8

func packed(what int64, since time.Duration) int64 { return int64(since)<<pauseBits | what }

func unpacked(pause int64) (what int64, since time.Duration) {
	return pause & (1<<pauseBits - 1), time.Duration(pause >> pauseBits)
}

func (p *Progress) pauses(what int64, now time.Time) {
	p.pause.Store(packed(what, now.Sub(p.event.Began)))
}

// resumes ends the current pause if the pause is of the kind from. It first adds the waiting time and then clears the
// pause. A concurrent call of busy may then subtract the waiting time twice, and return too short a time, but never too
// long a time.
func (p *Progress) resumes(from int64, waited time.Duration) {
	if what, _ := unpacked(p.pause.Load()); what == from {
		p.paused.Add(int64(waited))
		p.pause.Store(noPause)
	}
}

// Rests marks that a watch has sent all events.
func (p *Progress) Rests() { p.pauses(resting, time.Now()) }

// Wakes marks that a watch may have more to send.
func (p *Progress) Wakes() {
	_, since := unpacked(p.pause.Load())
	now := time.Since(p.event.Began)
	p.woken.Store(int64(now))
	p.rested.Store(noPause)
	p.resumes(resting, now-since)
}

// Writes marks that a write to the client begins. It may interrupt a step, such as Asking while the upstream's response
// is forwarded.
func (p *Progress) Writes(now time.Time) {
	p.outer = p.pause.Load()
	p.pauses(writing, now)
}

// CPU time of a write, per call and per byte, mostly for system calls and encryption. The remaining time of a write is
// waiting for the client.
const (
	writeWork   = 20 * time.Microsecond
	writtenByte = time.Nanosecond
)

// Wrote marks that a write to the client has ended, with or without an error.
func (p *Progress) Wrote(bytes int) {
	_, since := unpacked(p.pause.Load())
	took := time.Since(p.event.Began) - since
	p.bytes.Add(int64(bytes))
	p.spent.Add(int64(min(took, writeWork+time.Duration(bytes)*writtenByte)))
	if p.outer == noPause {
		p.paused.Add(int64(took)) // an outer pause already includes this time
	}
	p.pause.Store(p.outer)
}

// Bytes returns the number of bytes of the body sent so far.
func (p *Progress) Bytes() int64 { return p.bytes.Load() }

// Sent sets the number of events that a watch has sent.
func (p *Progress) Sent(events int) { p.events.Store(int64(events)) }

// busy returns how long the request did not wait, up to the given age. While the request is in flight, the result may
// be too small, and a later call returns the correct value.
func (p *Progress) busy(age time.Duration) time.Duration {
	pause := p.pause.Load() // must be read before paused, see resumes
	work := age - time.Duration(p.paused.Load())
	if what, since := unpacked(pause); what != noPause {
		work -= max(age-since, 0)
	}
	return max(work, 0) + time.Duration(p.spent.Load())
}
