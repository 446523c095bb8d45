package settings

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const fixedSeed = 20_000

// Seed returns and logs the seed of a random test: LISTFACADE_SEED, or a fixed number.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := Number(t, "LISTFACADE_SEED", fixedSeed)
	t.Logf("LISTFACADE_SEED=%d", seed)
	return uint64(seed)
}

// Random returns a source of random numbers with the seed of Seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 1)) //nolint:gosec // to be repeatable
}

// Packs reports whether facades compress all objects immediately, even where it saves little. With LISTFACADE_PACK=off
// they compress nothing.
func Packs() bool { return os.Getenv("LISTFACADE_PACK") != "off" }

// Smallest reports whether facades use the smallest possible budgets (LISTFACADE_BUDGETS=smallest).
func Smallest() bool { return os.Getenv("LISTFACADE_BUDGETS") == "smallest" }

// Extras returns the --authorization-extras of facades with callers (LISTFACADE_EXTRAS=consider or ignore); the default
// is auto.
func Extras() string { return cmp.Or(os.Getenv("LISTFACADE_EXTRAS"), "auto") }

// ReviewsTokens reports whether facades review every token, also tokens of service accounts, which they verify
// otherwise (LISTFACADE_TOKENS=review).
func ReviewsTokens() bool { return os.Getenv("LISTFACADE_TOKENS") == "review" }

// Upstream returns the older Kubernetes release of test clusters, for example "1.30" (LISTFACADE_UPSTREAM). It is empty
// for the release whose answers the facade reproduces.
func Upstream() string { return os.Getenv("LISTFACADE_UPSTREAM") }

// Number returns the non-negative number in an environment variable, or else the default.
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

// Duration returns the non-negative duration in an environment variable, or else the default.
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
