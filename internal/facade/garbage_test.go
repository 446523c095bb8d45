package facade

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestGarbage: the process bounds what garbage may lie, unless its environment says how much.
func TestGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for environment, kept := range map[string]bool{"": false, "100": true} {
		debug.SetGCPercent(77)
		t.Setenv("GOGC", environment)
		boundGarbage()()
		if got := debug.SetGCPercent(100); (got == 77) != kept {
			t.Errorf("GOGC=%q: %d %%", environment, got)
		}
	}
}

func TestGarbagePercent(t *testing.T) {
	if got := leastOf(math.MaxInt64); got != leastGarbage {
		t.Errorf("without a limit at least %d bytes may be added, want %d", got, leastGarbage)
	}
	if got := garbagePercent(32<<20, leastOf(128<<20)); got != mostGarbage {
		t.Errorf("near a limit %d %% may be added, want %d", got, mostGarbage)
	}
	for live, want := range map[uint64]int{
		0: highestPercent, 1 << 20: highestPercent, 16 << 20: 300, 48 << 20: 100, 96 << 20: mostGarbage, 1 << 40: mostGarbage,
	} {
		if got := garbagePercent(live, leastGarbage); got != want {
			t.Errorf("of %d bytes %d %% may be added, want %d", live, got, want)
		}
	}
}
