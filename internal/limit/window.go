package limit

import "time"

const (
	minWindow = 4  // lowest number of seats: every server should be able to do this much work at a time
	maxWindow = 64 // highest number of seats: more work at a time should make no server faster
	// Work is fast if it takes at most twice the shortest time plus tolerance. Scheduling, garbage collection and short
	// queues cause delays of this length on a server that is not overloaded.
	tolerance = 10 * time.Millisecond
	// A shortest time is forgotten after fastestFor at the earliest, because a server can become slower. fastestFor must
	// be far longer than the time between two reductions, because an overloaded server is fast only after a reduction.
	fastestFor = time.Minute
)

// window computes how many pieces of work a server may do at a time: additive increase, multiplicative decrease. It
// counts work rather than time, so that a few slow pieces, which one caller may cause, do not count more than others.
// Not safe for concurrent use.
type window struct {
	seats   int
	given   uint64 // seats given away
	reduced uint64 // value of given at the last reduction; results of earlier work cause no further reduction

	// The current round ends when as many pieces of work are answered as there are seats.
	fast, slow int
	used       bool // whether at least half of the seats were in use

	fastest map[string]*fastest // by kind
}

func newWindow() window { return window{seats: minWindow, fastest: map[string]*fastest{}} }

func (w *window) take(inUse int) uint64 {
	w.given++
	w.used = w.used || 2*inUse >= w.seats
	return w.given
}

func (w *window) answered(number uint64, kind string, took time.Duration, now time.Time) {
	shortest := w.fastest[kind]
	if shortest == nil {
		shortest = &fastest{}
		w.fastest[kind] = shortest
	}
	least := shortest.with(took, now)
	if number <= w.reduced {
		return
	}
	if took <= 2*least+tolerance {
		w.fast++
	} else {
		w.slow++
	}
	if w.fast+w.slow < w.seats {
		return
	}
	if w.slow > w.fast {
		w.reduce()
		return
	}
	if w.used {
		w.seats = min(w.seats+1, maxWindow)
	}
	w.begin()
}

func (w *window) overloaded(number uint64) {
	if number > w.reduced {
		w.reduce()
	}
}

func (w *window) reduce() {
	w.seats, w.reduced = max(w.seats/2, minWindow), w.given
	w.begin()
}

func (w *window) begin() { w.fast, w.slow, w.used = 0, 0, false }

// fastest is the shortest time of work during the last one to two periods of fastestFor.
type fastest struct {
	before, current time.Duration // shortest times in the previous and the current period; 0 without work
	since           time.Time     // start of the current period
}

func (f *fastest) with(took time.Duration, now time.Time) time.Duration {
	took = max(took, 1)
	if age := now.Sub(f.since); age >= fastestFor {
		if f.before = f.current; age >= 2*fastestFor {
			f.before = 0
		}
		f.current, f.since = 0, now
	}
	if f.current == 0 || took < f.current {
		f.current = took
	}
	if f.before > 0 {
		return min(f.before, f.current)
	}
	return f.current
}
