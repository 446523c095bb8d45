package settings

import (
	"math"
	"testing"
	"time"
)

// margin is the time before a test's deadline in which the test starts no further try.
const margin = time.Minute

// Budget limits the tries of a random test, by number or, with LISTFACADE_SOAK, by time.
type Budget struct {
	Tries int
	until time.Time // zero if not limited by time
	soaks bool
}

// NewBudget returns a budget with the number of tries in the environment variable, or else the default.
func NewBudget(t *testing.T, name string, otherwise int) Budget {
	t.Helper()
	b := Budget{Tries: Number(t, name, otherwise)}
	if deadline, limited := t.Deadline(); limited {
		b.until = deadline.Add(-margin)
	}
	if soak := Duration(t, "LISTFACADE_SOAK", 0); soak > 0 {
		b.Tries, b.until, b.soaks = math.MaxInt, time.Now().Add(soak), true
	}
	return b
}

// Allows reports whether a further try is allowed after done tries.
func (b Budget) Allows(done int) bool {
	return done < b.Tries && (b.until.IsZero() || time.Now().Before(b.until))
}

// Missed returns how many tries did not run for lack of time. It is 0 if the budget is a time.
func (b Budget) Missed(done int) int {
	if b.soaks {
		return 0
	}
	return b.Tries - done
}
