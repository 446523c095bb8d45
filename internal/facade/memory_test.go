package facade

import (
	"math"
	"runtime/debug"
	"testing"

	"go.uber.org/zap"
)

// TestMemoryBudgetIsRead: the flag takes quantities, numbers and auto, and refuses what cannot be meant.
func TestMemoryBudgetIsRead(t *testing.T) {
	for text, want := range map[string]MemoryBudget{
		"auto": OwnMemory, "0": 0, "2Gi": 2 << 30, "134217728": 128 << 20, "500M": 500_000_000,
	} {
		var m MemoryBudget
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%s: %d, %v", text, m, err)
		}
		var again MemoryBudget
		if err := again.Set(m.String()); err != nil || again != m {
			t.Errorf("%s is read as %d and printed as %s: %v", text, m, &m, err)
		}
	}
	for _, text := range []string{"", "much", "-1", "-2Gi", "1", "63Mi"} {
		var m MemoryBudget
		if err := m.Set(text); err == nil {
			t.Errorf("%q is taken for %d", text, m)
		}
	}
}

// TestMemoryBudgetIsFound: what is said comes first, then GOMEMLIMIT, which stands; and the collector is told.
func TestMemoryBudgetIsFound(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct{ flag, environment, want, collector int64 }{
		{1 << 40, math.MaxInt64, 1 << 40, 1 << 40}, {1 << 40, 1 << 39, 1 << 40, 1 << 39}, {int64(OwnMemory), 1 << 39, 1 << 39, 1 << 39},
		{0, 1 << 39, 0, 1 << 39}, {0, math.MaxInt64, 0, math.MaxInt64},
	} {
		debug.SetMemoryLimit(c.environment)
		got := boundMemory(MemoryBudget(c.flag), zap.NewNop())
		if collector := debug.SetMemoryLimit(-1); int64(got) != c.want || collector != c.collector {
			t.Errorf("%+v: %d, and the collector is told %d", c, got, collector)
		}
	}
}

// TestWithin: of what the kernel allows a tenth is left to it, and 32 MiB, and no more than half.
func TestWithin(t *testing.T) {
	for limit, want := range map[int64]MemoryBudget{10 << 30: 9 << 30, 320 << 20: 288 << 20, 128 << 20: 96 << 20, 40 << 20: 20 << 20} {
		if got := within(limit); got != want {
			t.Errorf("of %d MiB %d are taken, want %d", limit>>20, got>>20, want>>20)
		}
	}
}
