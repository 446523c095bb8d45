package budget

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Account is a part of the process that uses memory. Bytes returns the number of bytes that it uses now.
type Account struct {
	Name  string
	Bytes func() int64
}

// Step is a way to free memory.
type Step struct {
	Name string
	// Above is the share of the limit, from 0 to 1, above which the step runs.
	Above float64
	// Costly is set for a step that runs only if the memory without garbage and responses exceeds Above for a second.
	Costly bool
	// Free frees up to the given number of bytes, and returns how many it freed.
	Free func(bytes int64) int64
	// Ease is called in each round in which the step is not needed, about once per second. It may be nil.
	Ease func()
}

// Purpose says what the caller of Take needs the memory for.
type Purpose int

// Values of Purpose.
const (
	Answers Purpose = iota // a response in flight
	Watches                // an open watch
	purposes
)

// String returns the name of the purpose's account.
func (p Purpose) String() string { return [purposes]string{"answers", "watches"}[p] }

// Options configure a Budget.
type Options struct {
	// Limit is the number of bytes of memory that the process may use; 0 means no limit.
	Limit int64
	// Accounts are the parts of the process that use memory, without the memory from Take.
	Accounts []Account
	Steps    []Step
	// Admit are the steps that free memory for a lane that is being filled. Their Above is ignored.
	Admit []Step
	// FillAbove is the share of the limit, from 0 to 1, above which no lane is filled. RefuseAbove is the share above
	// which Take refuses.
	FillAbove, RefuseAbove float64
	// Runtime returns the memory of the process; nil means ReadRuntime. Collect collects garbage; nil means runtime.GC.
	Runtime func() Runtime
	Collect func()
}

// Budget measures the memory of the process and keeps it below a limit. A nil Budget has no limit, and counts nothing.
// Safe for concurrent use.
type Budget struct {
	options Options
	taken   [purposes]atomic.Int64
	meter   meter
	tally   tally

	relieving sync.Mutex  // held while steps run; guards the fields below
	last      time.Time   // end of the last round
	collected time.Time   // last collection that the Budget started
	seen      uint64      // number of collections at the last round
	above     []time.Time // time since which each costly step is needed; zero if it is not needed
	leaving   int64       // bytes that costly steps freed and that readers may still reference
	leftBy    time.Time   // time after which no reader references these bytes
}

// New returns a Budget.
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
	// leavingFor is how long readers may still reference memory that a costly step freed: the maximum duration of a
	// request. Until then, the memory is live. If this memory counted as used, the steps would free everything else,
	// too.
	leavingFor = time.Minute
)

// Run runs a round of steps each second until the context ends.
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

// Take reserves memory for a purpose; ok is false if there is not enough. The caller calls give to return the memory;
// further calls have no effect. If there is not enough memory, Take first runs a round of steps, unless a round is
// running or ended within the last second.
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

// Share returns a share of the limit in bytes, but no more than the argument most. Without a limit, it returns this
// argument.
func (b *Budget) Share(of float64, most int64) int64 {
	if b == nil || b.options.Limit == 0 {
		return most
	}
	return min(b.share(of), most)
}

// Fits reports whether a lane that is being filled may use the given number of additional bytes. If necessary, it runs
// the steps of Options.Admit, which free memory that lanes in use do not need.
func (b *Budget) Fits(bytes int64) bool {
	switch {
	case b == nil || b.options.Limit == 0 || b.excess(bytes) <= 0:
		return true
	case bytes > b.share(b.options.FillAbove):
		return false // it would not fit even if everything else were freed
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

// Spares reports whether a lane could use the given number of additional bytes without a step that frees memory.
func (b *Budget) Spares(bytes int64) bool {
	return b == nil || b.options.Limit == 0 || b.excess(bytes) <= 0
}

// excess returns how many bytes must be freed before a lane can use the given number of additional bytes. Responses in
// flight do not count, because they end soon.
func (b *Budget) excess(bytes int64) int64 {
	return b.used() - b.taken[Answers].Load() + bytes - b.share(b.options.FillAbove)
}

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

// relieve runs a round of steps. It returns false if a round is running or ended less than a second ago.
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

// margin is the share of the limit that a step frees in addition, so that it is not needed again in the next round.
const margin = 0.02

// round runs the steps that are needed, in their order. The caller holds b.relieving.
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

// lasting returns the used memory for a costly step: without garbage, responses, and bytes that the last costly steps
// freed. It returns 0 if the step is not needed, or was not needed in the previous round.
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
	case time.Since(since) < every*9/10: // a tick may come early
		return 0
	}
	return used
}

func (b *Budget) left() int64 {
	if time.Now().After(b.leftBy) {
		return 0
	}
	return b.leaving
}

// look starts a garbage collection if the used memory is above the first step's share and there was no collection since
// the last round. In an idle process, garbage would otherwise count as used for a long time.
func (b *Budget) look() {
	if b.options.Runtime().Collections == b.seen && len(b.options.Steps) > 0 && !b.has(b.options.Steps[0].Above, 0) {
		b.collect()
	}
	b.seen = b.options.Runtime().Collections
}

// collect collects garbage, at most once per second. The caller holds b.relieving.
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
