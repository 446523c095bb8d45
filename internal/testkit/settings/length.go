package settings

import "testing"

// Long skips a test in a short run (go test -short), as which `make test` runs. `make test-long` runs all of them.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a part of make test-long")
	}
}

// Amount is how much of something a test does: the first number in a short run, else the second.
func Amount(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}
