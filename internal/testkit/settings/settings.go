package settings

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// fixedSeed is what random tests begin with unless the environment says otherwise.
const fixedSeed = 20_000

// Seed is the seed of a random test: the same every time, or LISTFACADE_SEED. It is logged, so that a test that fails
// says it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := Number(t, "LISTFACADE_SEED", fixedSeed)
	t.Logf("LISTFACADE_SEED=%d", seed)
	return uint64(seed)
}

// Random draws numbers from the seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 1)) //nolint:gosec // to be repeatable
}

// Packs tells that facades keep everything compressed at once, and not only what it is worth it for. With
// LISTFACADE_PACK=off they compress nothing.
func Packs() bool { return os.Getenv("LISTFACADE_PACK") != "off" }

// Smallest tells that facades are to have the smallest budgets that they can have: LISTFACADE_BUDGETS=smallest.
func Smallest() bool { return os.Getenv("LISTFACADE_BUDGETS") == "smallest" }

// Upstream is the older release of Kubernetes, as "1.30", that clusters are to be of: LISTFACADE_UPSTREAM. Empty is the
// one whose answers the facade promises.
func Upstream() string { return os.Getenv("LISTFACADE_UPSTREAM") }

// Number is one in the environment, from 0 on.
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

// Duration is one in the environment, from 0 on.
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
