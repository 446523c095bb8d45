package main

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[99-i] = i + 1
	}
	for _, test := range []struct {
		values []int
		q      float64
		want   int
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{[]int{7}, 0.5, 7}, {[]int{3, 1, 2}, 0.5, 2}, {[]int{4, 3, 2, 1}, 0.5, 2}, {[]int{4, 3, 2, 1}, 0.75, 3},
	} {
		if got := quantile(test.values, test.q); got != test.want {
			t.Errorf("quantile %g of %v: got %d, want %d", test.q, test.values, got, test.want)
		}
	}
}

func answered(n int, wall time.Duration) []sample {
	samples := make([]sample, n)
	for i := range samples {
		samples[i] = sample{wall: wall, first: wall / 2, bytes: 100}
	}
	return samples
}

func TestFiguresArePerResponse(t *testing.T) {
	got := figures([]block{
		{samples: answered(2, 10*time.Second), self: 4 * time.Second, took: 20 * time.Second, resident: 10, summit: 50},
		{samples: answered(1, 6*time.Second), self: 3 * time.Second, took: 6 * time.Second, resident: 30, summit: 40, failed: 2},
	})
	want := report.Figures{
		CPU: report.Spread{Median: time.Second, Low: time.Second, High: 2 * time.Second}, P50: 10 * time.Second, P99: 10 * time.Second,
		First: 5 * time.Second, Until: 6 * time.Second, Bytes: 100, Resident: 10, Peak: 50, Answers: 3, Failed: 2,
	}
	if *got != want {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

func TestBehindExcludesIdleLoad(t *testing.T) {
	idle := idling([]block{{direct: 10 * time.Millisecond, took: time.Second}})
	asked := []block{{samples: answered(10, 0), direct: 120 * time.Millisecond, took: 2 * time.Second}}
	if got := behind(asked, idle); got != 10*time.Millisecond {
		t.Errorf("got %s for a response, want 10ms", got)
	}
	quiet := []block{{samples: answered(10, 0), direct: 15 * time.Millisecond, took: 2 * time.Second}}
	if got := behind(quiet, idle); got != 0 {
		t.Errorf("got %s below the idle load, want 0", got)
	}
}
