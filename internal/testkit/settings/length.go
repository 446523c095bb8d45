package settings

import "testing"

// Long skips a test in a short run (go test -short). `make test` is a short run, `make test-long` runs all tests.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs in make test-long only")
	}
}

// Amount returns the first number in a short run, else the second.
func Amount(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}
