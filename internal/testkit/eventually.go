package testkit

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// tryEvery is how often a condition is looked at that has nothing to wait on.
const tryEvery = 20 * time.Millisecond

// Eventually tries until the condition holds, for as long as settings.Patience, and fails the test with the last
// reason.
func Eventually(t testing.TB, what string, holds func() error) {
	t.Helper()
	patience := settings.Patience()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		<-tick.C
	}
}
