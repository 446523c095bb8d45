package testkit

import (
	"testing"
	"time"
)

// Eventually tries until the condition holds, at most for the given time, and fails the test with the last reason.
func Eventually(t testing.TB, within time.Duration, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		<-tick.C
	}
}
