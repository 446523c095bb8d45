package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func growth() Growth {
	var g Growth
	for _, n := range []int{10, 1000} {
		g.Sizes = append(g.Sizes, Grown{
			Objects: n, Fill: time.Second, FillCPU: time.Duration(n) * time.Microsecond, Peak: int64(3000 * n), Resident: int64(2000 * n), Live: int64(1500 * n),
			Reads:   []GrownRead{{Title: "a read", First: 7 * time.Millisecond, P50: 2 * time.Millisecond, P99: 3 * time.Millisecond}},
			Watches: []GrownWatches{{Title: "5 watches", P50: time.Millisecond, P99: 4 * time.Millisecond, Live: 20_000}},
		})
	}
	return g
}

func TestGrowthHasAColumnForEachSize(t *testing.T) {
	var b strings.Builder
	if err := growth().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| objects | 10 | 1000 |", "| live heap, for each object | 1.5 kB | 1.5 kB |", "| filled: CPU of the facade, for each object | 1.00 µs | 1.00 µs |",
		"| a read: time, first / p50 / p99 | 7.00 ms / 2.00 ms / 3.00 ms |", "| 5 watches, each: heap and stacks | 20.0 kB | 20.0 kB |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestGrowthIsPublished(t *testing.T) {
	dir := t.TempDir()
	if err := growth().Publish(dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"million.json": `"objects": 1000`, "growth-memory.svg": "live heap", "growth-time.svg": "an event to 5 watches"} {
		text, err := os.ReadFile(filepath.Join(dir, assets, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %.300s", file, err, text)
		}
	}
}

func TestGrowthWithoutSizesWritesNothing(t *testing.T) {
	var b strings.Builder
	if err := (Growth{}).Markdown(&b); err != nil || b.Len() != 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}

// A new measurement of a size replaces the earlier one; results of other sizes are kept.
func TestWithKeepsResultsOfOtherSizes(t *testing.T) {
	dir := t.TempDir()
	if g, err := ReadGrowth(dir); err != nil || len(g.Sizes) != 0 {
		t.Fatalf("got %v, %v before the first Publish", g, err)
	}
	if err := growth().Publish(dir); err != nil {
		t.Fatal(err)
	}
	earlier, err := ReadGrowth(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := Growth{Sizes: []Grown{{Objects: 1000, Live: 7}}}.With(earlier)
	if len(g.Sizes) != 2 || g.Sizes[0].Objects != 10 || g.Sizes[0].Live != 15_000 || g.Sizes[1].Live != 7 {
		t.Errorf("%+v", g.Sizes)
	}
}
