package testkit

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// VerifyTestMain runs the tests of a package, and fails if goroutines remain after settings.Patience. goleak itself
// waits for less than half a second.
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := left(settings.Patience()); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines remain after the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// left waits until no goroutines remain. After a time it returns an error that lists the remaining goroutines.
func left(within time.Duration, but ...goleak.Option) error {
	for deadline := time.Now().Add(within); ; {
		err := goleak.Find(but...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
