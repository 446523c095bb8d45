package limit

import "time"

const (
	minWindow = 4  // every server can do this much work at a time
	maxWindow = 64 // more work at a time makes no server faster
	// tolerance is how much longer than twice the shortest time fast work may take. A queue of this length delays other
	// work little, and scheduling and garbage collection cause such delays, too.
	tolerance = 10 * time.Millisecond
	// fastestFor is how long the shortest time counts, at least. The shortest time expires, because a server can become
	// slower. fastestFor is far longer than the time between two reductions, which make work fast again.
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

// take counts a seat that was given away and returns its number, from 1.
func (w *window) take(inUse int) uint64 {
	w.given++
	w.used = w.used || 2*inUse >= w.seats
	return w.given
}

// answered counts work that took the given time.
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

// overloaded counts work that the server refused or did not finish.
func (w *window) overloaded(number uint64) {
	if number > w.reduced {
		w.reduce()
	}
}

func (w *window) reduce() {
	w.seats, w.reduced = max(w.seats/2, minWindow), w.given
	w.begin()
}

// begin begins a round.
func (w *window) begin() { w.fast, w.slow, w.used = 0, 0, false }

// fastest is the shortest time of work during the last one to two periods of fastestFor. The zero value has no time.
type fastest struct {
	before, current time.Duration // 0 if there was none
	since           time.Time     // start of the current period
}

// with adds a time and returns the shortest.
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
