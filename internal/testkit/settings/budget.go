package settings

import (
	"math"
	"testing"
	"time"
)

// margin is what a test has to end what it began, before its deadline.
const margin = time.Minute

// Budget is how much of a random test there is to do: a number of tries, or, with LISTFACADE_SOAK, as many as there is
// time for.
type Budget struct {
	Tries int
	until time.Time // zero: without end
	soaks bool
}

// NewBudget is as many tries as the environment says under a name, or otherwise.
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

// Allows tells whether there is to be another try after some.
func (b Budget) Allows(done int) bool {
	return done < b.Tries && (b.until.IsZero() || time.Now().Before(b.until))
}

// Missed is how many tries there was no time for; a soak misses none.
func (b Budget) Missed(done int) int {
	if b.soaks {
		return 0
	}
	return b.Tries - done
}
