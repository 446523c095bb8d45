package table

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// An age reads the same until the time that the clock returns. That time is not much too early.
func TestAgesDoNotChangeBeforeUntil(t *testing.T) {
	const day = 24 * time.Hour
	for _, edge := range []time.Duration{
		0, time.Second, 2 * time.Minute, 10 * time.Minute, 3 * time.Hour, 8 * time.Hour, 48 * time.Hour, 8 * day, 2 * 365 * day, 8 * 365 * day, 30 * 365 * day,
	} {
		for _, off := range []time.Duration{-day - 1, -time.Hour, -time.Minute, -1500 * time.Millisecond, -time.Second, -1, 0, 1, time.Second, 59 * time.Minute, 25 * time.Hour} {
			age := edge + off
			clock := Clock{Now: time.Unix(1e9, 0)}
			text := clock.since(clock.Now.Add(-age))
			if want := duration.HumanDuration(age); text != want {
				t.Fatalf("age %v: got %s, want %s", age, text, want)
			}
			steady := clock.Until().Sub(clock.Now)
			for _, later := range []time.Duration{1, steady / 3, steady / 2, steady - 1} {
				if got := duration.HumanDuration(age + later); later < steady && got != text {
					t.Errorf("age %v: got %s after %v, want %s for %v", age, got, later, text, steady)
				}
			}
			if age >= 0 && age < 8*day && steady > 0 && edge >= 8*time.Hour && steady > time.Hour {
				t.Errorf("age %v: got an unchanged text for %v, want at most 1h", age, steady)
			}
		}
	}
}

// Until returns the first of several changes, and resets the clock.
func TestUntilIsTheFirstChange(t *testing.T) {
	clock := Clock{Now: time.Unix(1e9, 0)}
	if !clock.Until().IsZero() {
		t.Error("got a change without an age, want the zero time")
	}
	clock.since(clock.Now.Add(-90 * time.Minute))
	clock.since(clock.Now.Add(-30*time.Second - 400*time.Millisecond))
	clock.since(clock.Now.Add(-5 * 24 * time.Hour))
	if got := clock.Until().Sub(clock.Now); got != 600*time.Millisecond {
		t.Errorf("got a change after %v, want 600ms", got)
	}
	if !clock.Until().IsZero() {
		t.Error("got a second result, want the zero time")
	}
	clock.till(clock.Now.Add(time.Hour))
	if got := clock.Until(); !got.Equal(clock.Now) {
		t.Errorf("future time: got a change at %v, want %v", got, clock.Now)
	}
}
