package facade

import (
	"runtime/debug"
	"testing"
)

// TestGarbage: the process lets less garbage lie than Go does by itself, unless its environment says how much.
func TestGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for environment, want := range map[string]int{"": garbage, "100": 100} {
		t.Setenv("GOGC", environment)
		boundGarbage()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: %d %%, not %d %%", environment, got, want)
		}
	}
}
