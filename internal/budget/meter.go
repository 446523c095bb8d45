package budget

import (
	"runtime/metrics"
	"sync"
	"time"
)

// Runtime is the memory of the process according to the Go runtime.
type Runtime struct {
	// Live is the live heap after the last collection plus all memory outside the heap, such as stacks. In bytes.
	Live int64
	// Mapped is all memory that the runtime has mapped, garbage included. In bytes.
	Mapped int64
	// Collections is the number of garbage collections since the start.
	Collections uint64
}

// ReadRuntime returns the current values. It takes some microseconds.
func ReadRuntime() Runtime {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) } //nolint:gosec // bytes of memory
	mapped := value(0) - value(1)
	return Runtime{Live: mapped - value(2) - value(3) - value(4) + value(5), Mapped: mapped,
		Collections: samples[6].Value.Uint64()}
}

// countEvery is the maximum age of the sum of the accounts. Adding up the accounts visits every lane. Each new watch
// needs the sum, and thousands of watches may begin within a second.
const countEvery = 20 * time.Millisecond

// meter estimates the used memory. Safe for concurrent use.
type meter struct {
	mu          sync.Mutex // guards the fields below; no account is called while it is held
	counted     time.Time  // when the accounts were added up; zero if the sum is outdated
	accounted   int64
	begun       bool
	collections uint64 // number of collections at the last reading
	uncounted   int64  // live memory at the last reading minus the accounts
}

// used returns the live memory of the last collection, corrected by the changes of the accounts since then. taken is
// the memory from Take. surplus is the part of taken that may never be used, because most watches use half of the
// memory that they take.
func (m *meter) used(accounts []Account, taken, surplus int64, read func() Runtime) int64 {
	accounted := m.count(accounts) + taken
	now := read()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun || m.collections != now.Collections {
		// Memory that was taken, but is not used yet, is missing from the live memory. It must still count as used.
		m.begun, m.collections, m.uncounted = true, now.Collections, max(now.Live-accounted, -surplus)
	}
	return accounted + m.uncounted
}

// count returns the sum of the accounts, at most countEvery old.
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

func (m *meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted = time.Time{}
}
