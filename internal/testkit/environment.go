package testkit

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// fixedSeed is what random tests begin with unless the environment says otherwise, so that they say the same every time.
const fixedSeed = 20_000

// Seed is the seed of a random test: the same every time, or LISTFACADE_SEED. A test that fails prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(Number(t, "LISTFACADE_SEED", fixedSeed))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this was LISTFACADE_SEED=%d", seed)
		}
	})
	return seed
}

// Number is one in the environment that is not negative.
func Number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return n
}

// Duration is one in the environment that is not negative.
func Duration(t testing.TB, name string, otherwise time.Duration) time.Duration {
	t.Helper()
	text, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		t.Fatalf("%s=%s is no duration", name, text)
	}
	return d
}
