package testkit

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

const tryEvery = 20 * time.Millisecond

// Eventually checks a condition until it is true. After settings.Patience it fails the test with the last error.
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
