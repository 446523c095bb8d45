package facade

import (
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
	for live, want := range map[uint64]int{
		0: highestPercent, 1 << 20: highestPercent, 16 << 20: 300, 48 << 20: 100, 96 << 20: mostGarbage, 1 << 40: mostGarbage,
	} {
		if got := garbagePercent(live); got != want {
			t.Errorf("of %d bytes %d %% may be added, want %d", live, got, want)
		}
	}
}
