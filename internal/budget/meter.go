package budget

import (
	"runtime/metrics"
	"sync"
	"time"
)

// Runtime is what Go's runtime says of the process' memory.
type Runtime struct {
	// Live is what the last collection left of the heap, and all that is not the heap, such as stacks.
	Live int64
	// Mapped is all that the process has of the system, garbage included.
	Mapped int64
	// Collections is how many there have been.
	Collections uint64
}

// ReadRuntime says what it is at the moment, in some microseconds.
func ReadRuntime() Runtime {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) } //nolint:gosec // bytes of memory
	mapped := value(0) - value(1)
	return Runtime{Live: mapped - value(2) - value(3) - value(4) + value(5), Mapped: mapped, Collections: samples[6].Value.Uint64()}
}

// countEvery is how old the sum of the accounts may be: adding them up looks at every lane, and thousands of watches
// may begin in a second.
const countEvery = 20 * time.Millisecond

// meter knows how much memory is used. Safe for concurrent use.
type meter struct {
	mu          sync.Mutex // guards all below; no account is asked with it held
	counted     time.Time  // when the accounts were added up; zero when that is to be done anew
	accounted   int64
	begun       bool
	collections uint64 // when it was last read
	uncounted   int64  // of what was live then, what no account knew
}

// used is what is live, with what accounts say has come and gone since the last collection. taken is the account that
// changes with each who asks, and surplus how much of it may be more than is taken in the end: most watches take half
// of what they may.
func (m *meter) used(accounts []Account, taken, surplus int64, read func() Runtime) int64 {
	accounted := m.count(accounts) + taken
	now := read()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun || m.collections != now.Collections {
		// What was taken and is not used yet is not live: it counts all the same.
		m.begun, m.collections, m.uncounted = true, now.Collections, max(now.Live-accounted, -surplus)
	}
	return accounted + m.uncounted
}

// count adds the accounts up, unless that was done a moment ago.
func (m *meter) count(accounts []Account) int64 {
	now := time.Now()
	if sum, ok := m.lately(now); ok {
		return sum
	}
	sum := int64(0)
	for _, account := range accounts {
		sum += account.Bytes()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted, m.accounted = now, sum
	return sum
}

func (m *meter) lately(now time.Time) (sum int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accounted, now.Sub(m.counted) < countEvery
}

// forget has the accounts added up anew, because something was let go.
func (m *meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted = time.Time{}
}
