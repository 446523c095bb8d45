package observe

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress is what others see of a request while it is under way. The goroutine that answers it writes, and never
// waits for who reads; a mark costs it some nanoseconds. The zero Progress is made ready by Follow.
//
// Of the Event others read only what is settled by then: Known and Answering say how much that is.
type Progress struct {
	event  *Event
	links         // in the list of requests under way
	cursor Cursor // of a watch that the cache answers; settled by Answering

	settled atomic.Uint32 // a phase
	pause   atomic.Int64  // what is waited for now, and since when: see packed; 0 when nothing is
	outer   int64         // the pause that a write interrupts; the owner's alone
	paused  atomic.Int64  // nanoseconds of the pauses that are over
	spent   atomic.Int64  // nanoseconds of writes that count as work
	woken   atomic.Int64  // when a watch last had something to do, in nanoseconds since the request began
	bytes   atomic.Int64  // of the body, as they were sent
	events  atomic.Int64  // of a watch, as they were sent

	charging sync.Mutex
	charged  Cost // guarded by charging, as is
	over     bool // all of it was charged
}

// Cursor tells where a watch is. Its methods are safe for concurrent use.
type Cursor interface {
	// Position is the resourceVersion up to which the watch was told everything that it selects.
	Position() uint64
	// Behind is about how many events there are for the watch that it was not told yet.
	Behind() int64
}

// phase says which fields of an Event are settled.
type phase = uint32

const (
	arrived   phase = iota // what the request itself says, before it is read
	known                  // also who asks, and what the path says
	answering              // also what it means, who answers and why
)

// Follow makes the Progress that of an Event.
func (p *Progress) Follow(e *Event) {
	p.event, e.Progress = e, p
}

// Known says that the User, and what the path says, are in the Event and stay as they are.
func (p *Progress) Known() { p.settled.Store(known) }

// Answering says the same of Plan, Source, Reason, Discovered and Selector: the answer begins.
func (p *Progress) Answering() { p.settled.Store(answering) }

// Watching is Answering for a watch that the cache answers.
func (p *Progress) Watching(at Cursor) {
	p.cursor = at
	p.Answering()
}

// A pause is a Step, or one of these.
const (
	noPause = 0
	resting = int64(steps) + 1 // a watch has sent all that there is
	writing = int64(steps) + 2 // the client is to accept what is sent
)

func pauseOf(step Step) int64 { return int64(step) + 1 }

// pauseBits are enough for what is waited for; the rest is nanoseconds since the request began: two years of them.
const pauseBits = 8

func packed(what int64, since time.Duration) int64 { return int64(since)<<pauseBits | what }

func unpacked(pause int64) (what int64, since time.Duration) {
	return pause & (1<<pauseBits - 1), time.Duration(pause >> pauseBits)
}

// pauses marks that something is waited for.
func (p *Progress) pauses(what int64, now time.Time) {
	p.pause.Store(packed(what, now.Sub(p.event.Began)))
}

// resumes ends a pause, if it is the one that there is. What is over is counted before the pause is gone, so that who
// looks meanwhile takes too much for waiting, and never for work (busy).
func (p *Progress) resumes(from int64, waited time.Duration) {
	if what, _ := unpacked(p.pause.Load()); what == from {
		p.paused.Add(int64(waited))
		p.pause.Store(noPause)
	}
}

// Rests marks that a watch has sent all that there is.
func (p *Progress) Rests() { p.pauses(resting, time.Now()) }

// Wakes marks that a watch may have more to send.
func (p *Progress) Wakes() {
	_, since := unpacked(p.pause.Load())
	now := time.Since(p.event.Began)
	p.woken.Store(int64(now))
	p.resumes(resting, now-since)
}

// Writes marks that a piece is being sent. It may interrupt a step, as that of asking the upstream does for as long as
// its answer is passed on.
func (p *Progress) Writes(now time.Time) {
	p.outer = p.pause.Load()
	p.pauses(writing, now)
}

// What a write takes of a processor where the client accepts at once: system calls and encryption, mostly. What it
// takes beyond that is time of the client's.
const (
	writeWork   = 20 * time.Microsecond
	writtenByte = time.Nanosecond
)

// Wrote marks that the piece was accepted, or was not.
func (p *Progress) Wrote(bytes int) {
	_, since := unpacked(p.pause.Load())
	took := time.Since(p.event.Began) - since
	p.bytes.Add(int64(bytes))
	p.spent.Add(int64(min(took, writeWork+time.Duration(bytes)*writtenByte)))
	if p.outer == noPause {
		p.paused.Add(int64(took)) // else it is part of the other pause
	}
	p.pause.Store(p.outer)
}

// Bytes are those of the body that were sent so far.
func (p *Progress) Bytes() int64 { return p.bytes.Load() }

// Sent sets how many events of a watch were sent.
func (p *Progress) Sent(events int) { p.events.Store(int64(events)) }

// busy is how long the request was not waiting, of its first so much time. It may say too little while the request
// goes on, and then says more later.
func (p *Progress) busy(age time.Duration) time.Duration {
	pause := p.pause.Load() // before what is over is: see resumes
	work := age - time.Duration(p.paused.Load())
	if what, since := unpacked(pause); what != noPause {
		work -= max(age-since, 0)
	}
	return max(work, 0) + time.Duration(p.spent.Load())
}
