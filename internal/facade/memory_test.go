package facade

import (
	"math"
	"runtime/debug"
	"testing"

	"go.uber.org/zap"
)

// The flag accepts quantities, numbers and auto, and refuses invalid values.
func TestMemoryBudgetFlag(t *testing.T) {
	for text, want := range map[string]MemoryBudget{
		"auto": OwnMemory, "0": 0, "2Gi": 2 << 30, "134217728": 128 << 20, "500M": 500_000_000,
	} {
		var m MemoryBudget
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%s: %d, %v", text, m, err)
		}
		var again MemoryBudget
		if err := again.Set(m.String()); err != nil || again != m {
			t.Errorf("%s: parsed as %d and printed as %s: %v", text, m, &m, err)
		}
	}
	for _, text := range []string{"", "much", "-1", "-2Gi", "1", "63Mi"} {
		var m MemoryBudget
		if err := m.Set(text); err == nil {
			t.Errorf("%q: accepted as %d", text, m)
		}
	}
}

// A configured budget takes precedence over GOMEMLIMIT, which stays in force. The collector's limit is set.
func TestMemoryBudgetPrecedence(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct{ flag, environment, want, collector int64 }{
		{1 << 40, math.MaxInt64, 1 << 40, 1 << 40}, {1 << 40, 1 << 39, 1 << 40, 1 << 39}, {int64(OwnMemory), 1 << 39, 1 << 39, 1 << 39},
		{0, 1 << 39, 0, 1 << 39}, {0, math.MaxInt64, 0, math.MaxInt64},
	} {
		debug.SetMemoryLimit(c.environment)
		got := boundMemory(MemoryBudget(c.flag), zap.NewNop())
		if collector := debug.SetMemoryLimit(-1); int64(got) != c.want || collector != c.collector {
			t.Errorf("%+v: got %d, and %d for the collector", c, got, collector)
		}
	}
}

// A tenth of the kernel's limit, and 48 MiB, are left free, but no more than half.
func TestBudgetWithinCgroupLimit(t *testing.T) {
	for limit, want := range map[int64]MemoryBudget{10 << 30: 9 << 30, 480 << 20: 432 << 20, 128 << 20: 80 << 20, 40 << 20: 20 << 20} {
		if got := within(limit); got != want {
			t.Errorf("limit of %d MiB: got %d, want %d", limit>>20, got>>20, want>>20)
		}
	}
}
