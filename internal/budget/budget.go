package budget

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Account is something that takes memory, and how many bytes of it at the moment.
type Account struct {
	Name  string
	Bytes func() int64
}

// Step is what is done to have memory.
type Step struct {
	Name string
	// Above is the share of the limit, from 0 to 1, above which the step is taken.
	Above float64
	// Costly steps are taken only for what stays: neither for garbage, nor for answers, which are refused instead, nor for
	// what was not there a second before.
	Costly bool
	// Free lets go of so many bytes, or of what there is, and returns how many that were.
	Free func(bytes int64) int64
	// Ease is called once a second while the step is not needed; nil when that means nothing to it.
	Ease func()
}

// Purpose is what memory is taken for, by who gives it back.
type Purpose int

// The purposes.
const (
	Answers Purpose = iota // an answer on its way to a client
	Watches                // an open watch
	purposes
)

// String returns the name of the account that what is taken stands in.
func (p Purpose) String() string { return [purposes]string{"answers", "watches"}[p] }

// Options are what a Budget is made of.
type Options struct {
	// Limit is how many bytes of memory the process may take; 0 is any number.
	Limit int64
	// Accounts are those beside what is taken (Take).
	Accounts []Account
	// Steps are taken in their order.
	Steps []Step
	// Admit are the steps that are taken for a lane that is being filled; their Above means nothing.
	Admit []Step
	// FillAbove is the share of the limit, from 0 to 1, above which no lane is filled; RefuseAbove that above which
	// nothing is taken.
	FillAbove, RefuseAbove float64
	// Runtime says what the process takes; nil is ReadRuntime. Collect collects garbage; nil is runtime.GC.
	Runtime func() Runtime
	Collect func()
}

// Budget is the memory of the process and what is done to keep it below a limit. A nil Budget has no limit, and counts
// nothing. Safe for concurrent use.
type Budget struct {
	options Options
	taken   [purposes]atomic.Int64
	meter   meter
	tally   tally

	relieving sync.Mutex  // held by who takes steps; guards what follows
	last      time.Time   // when a round ended
	collected time.Time   // when garbage was collected for us
	seen      uint64      // how many collections there were in the round before
	above     []time.Time // since when each step is needed; zero when it is not
	leaving   int64       // bytes that dear steps let go, and who reads them may still hold
	leftBy    time.Time   // when nobody does any more
}

// New makes a Budget of which nothing is taken.
func New(o Options) *Budget {
	if o.Runtime == nil {
		o.Runtime = ReadRuntime
	}
	if o.Collect == nil {
		o.Collect = runtime.GC
	}
	b := &Budget{options: o, above: make([]time.Time, len(o.Steps))}
	b.tally.init(o.Steps, o.Admit)
	return b
}

const (
	// every is the time between two rounds.
	every = time.Second
	// leavingFor is for how long what a dear step has let go may be held by who reads it: as long as a request may take.
	// It is live for as long, and to let go of more for its sake would let go of everything.
	leavingFor = time.Minute
)

// Run keeps to the limit until the context ends.
func (b *Budget) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.relieving.Lock()
			b.round()
			b.relieving.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// Take takes memory for a purpose if there is as much; give gives it back, and may be called again. Where it is short,
// who asks first has steps taken, unless that has just been done.
func (b *Budget) Take(p Purpose, bytes int64) (give func(), ok bool) {
	if b == nil {
		return func() {}, true
	}
	if !b.has(b.options.RefuseAbove, bytes) && !(b.relieve() && b.has(b.options.RefuseAbove, bytes)) {
		b.tally.refused[p].Add(1)
		return nil, false
	}
	b.taken[p].Add(bytes)
	return sync.OnceFunc(func() { b.taken[p].Add(-bytes) }), true
}

// Share is a share of the limit in bytes, and at the most so many.
func (b *Budget) Share(of float64, most int64) int64 {
	if b == nil || b.options.Limit == 0 {
		return most
	}
	return min(b.share(of), most)
}

// Fits tells whether a lane that is being filled may take so many bytes more. What lanes in use do not need is let go
// for it.
func (b *Budget) Fits(bytes int64) bool {
	switch {
	case b == nil || b.options.Limit == 0 || b.excess(bytes) <= 0:
		return true
	case bytes > b.share(b.options.FillAbove):
		return false // whatever is let go
	}
	b.relieving.Lock()
	defer b.relieving.Unlock()
	b.collect()
	for _, step := range b.options.Admit {
		excess := b.excess(bytes)
		if excess <= 0 {
			return true
		}
		b.take(step, excess)
	}
	return b.excess(bytes) <= 0
}

// Spares tells whether a lane could take so many bytes more without anything being let go for it.
func (b *Budget) Spares(bytes int64) bool {
	return b == nil || b.options.Limit == 0 || b.excess(bytes) <= 0
}

// excess is by how much a lane that takes so many bytes more is too large. Answers under way do not count: they pass,
// and are refused where there are too many.
func (b *Budget) excess(bytes int64) int64 {
	return b.used() - b.taken[Answers].Load() + bytes - b.share(b.options.FillAbove)
}

// has tells whether so many bytes more are within a share of the limit.
func (b *Budget) has(share float64, bytes int64) bool {
	return b.options.Limit == 0 || b.used()+bytes <= b.share(share)
}

func (b *Budget) share(of float64) int64 { return int64(math.Round(of * float64(b.options.Limit))) }

func (b *Budget) used() int64 {
	taken := int64(0)
	for p := range purposes {
		taken += b.taken[p].Load()
	}
	return b.meter.used(b.options.Accounts, taken, b.taken[Watches].Load()/2, b.options.Runtime)
}

// relieve has a round of steps; false when there was one a moment ago, or is one under way.
func (b *Budget) relieve() bool {
	if !b.relieving.TryLock() {
		return false
	}
	defer b.relieving.Unlock()
	if time.Since(b.last) < every {
		return false
	}
	b.collect()
	b.round()
	return true
}

// margin is the share of the limit by which more is let go than would be enough, so that it need not be done again at
// once.
const margin = 0.02

// round takes the steps that are needed, in their order. The caller holds b.relieving.
func (b *Budget) round() {
	if b.options.Limit == 0 {
		return
	}
	b.look()
	for i, step := range b.options.Steps {
		used := b.used()
		if step.Costly {
			used = b.lasting(i)
		}
		switch {
		case used > b.share(step.Above):
			freed := b.take(step, used-b.share(step.Above-margin))
			if step.Costly {
				b.leaving, b.leftBy = b.left()+freed, time.Now().Add(leavingFor)
			}
		case step.Ease != nil:
			step.Ease()
		}
	}
	b.last = time.Now()
}

// lasting is what is used of what stays; 0 when there was as little a round ago that the step was not needed.
func (b *Budget) lasting(step int) int64 {
	above := b.share(b.options.Steps[step].Above)
	stays := func() int64 { return b.used() - b.taken[Answers].Load() - b.left() }
	if stays() > above {
		b.collect()
	}
	used := stays()
	since := b.above[step]
	switch {
	case used <= above:
		b.above[step] = time.Time{}
		return 0
	case since.IsZero():
		b.above[step] = time.Now()
		return 0
	case time.Since(since) < every*9/10: // two rounds may be closer to each other
		return 0
	}
	return used
}

// left is what dear steps have let go and may still be held.
func (b *Budget) left() int64 {
	if time.Now().After(b.leftBy) {
		return 0
	}
	return b.leaving
}

// look has what is live known anew where it matters: it is above the first mark, and there was no collection since the
// last round. What has become garbage meanwhile would be taken for live in a process that hardly does anything.
func (b *Budget) look() {
	if b.options.Runtime().Collections == b.seen && len(b.options.Steps) > 0 && !b.has(b.options.Steps[0].Above, 0) {
		b.collect()
	}
	b.seen = b.options.Runtime().Collections
}

// collect collects garbage, unless that was just done. The caller holds b.relieving.
func (b *Budget) collect() {
	if time.Since(b.collected) < every {
		return
	}
	b.options.Collect()
	b.meter.forget()
	b.collected = time.Now()
}

func (b *Budget) take(step Step, bytes int64) (freed int64) {
	if freed = step.Free(bytes); freed > 0 {
		b.tally.note(step.Name, freed)
		b.meter.forget()
	}
	return freed
}
