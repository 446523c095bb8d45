package facade

import (
	"math"
	"runtime/debug"
	"testing"
)

// The process adjusts the collector, unless GOGC is set.
func TestGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for environment, kept := range map[string]bool{"": false, "100": true} {
		debug.SetGCPercent(77)
		t.Setenv("GOGC", environment)
		boundGarbage()()
		if got := debug.SetGCPercent(100); (got == 77) != kept {
			t.Errorf("GOGC=%q: got %d %%", environment, got)
		}
	}
}

func TestGarbagePercent(t *testing.T) {
	if got := leastOf(math.MaxInt64); got != leastGarbage {
		t.Errorf("without a limit: got a minimum of %d bytes, want %d", got, leastGarbage)
	}
	if got := garbagePercent(32<<20, 0, leastOf(128<<20)); got != mostGarbage {
		t.Errorf("near a limit: got %d %%, want %d", got, mostGarbage)
	}
	for live, want := range map[uint64]int{
		0: highestPercent, 1 << 20: highestPercent, 16 << 20: 300, 48 << 20: 100, 96 << 20: 50, 192 << 20: mostGarbage, 1 << 40: mostGarbage,
	} {
		if got := garbagePercent(live, 0, leastGarbage); got != want {
			t.Errorf("%d live bytes: got %d %%, want %d", live, got, want)
		}
	}
}

// Memory that collections scan allows more garbage than memory without pointers.
func TestScannedMemoryIsCollectedLessOften(t *testing.T) {
	const live = 1 << 30
	for scanned, want := range map[uint64]int{
		0: mostGarbage, live / 2: (mostGarbage + mostScanned) / 2, live: mostScanned, 2 * live: mostScanned,
	} {
		if got := garbagePercent(live, scanned, leastGarbage); got != want {
			t.Errorf("%d of %d bytes scanned: got %d %%, want %d", scanned, live, got, want)
		}
	}
}

// Unused memory is returned once after a time with little allocation, and again after the next burst.
func TestQuiet(t *testing.T) {
	const unused = 64 << 20
	var q quiet
	added, given := uint64(1<<30), 0
	looks := func(n int, more, unused uint64) {
		for range n {
			if added += more; q.idle(added, unused) {
				given++
			}
		}
	}
	for _, step := range []struct {
		what         string
		looks        int
		more, unused uint64
		given        int
	}{
		{"busy", 20, unused / 8, unused, 0},
		{"hardly quiet", quietFor - 1, 1 << 10, unused, 0},
		{"busy again", 1, unused / 8, unused, 0},
		{"quiet", quietFor, 1 << 10, unused, 1},
		{"still quiet", 20, 1 << 10, unused, 1},
		{"a burst", 1, unused, unused, 1},
		{"quiet after it", quietFor, 1 << 10, unused, 2},
		{"a burst that leaves little", 1, unused, 1 << 20, 2},
		{"quiet after that", quietFor, 1 << 10, 1 << 20, 2},
	} {
		if looks(step.looks, step.more, step.unused); given != step.given {
			t.Errorf("%s: got %d returns of memory, want %d", step.what, given, step.given)
		}
	}
}
