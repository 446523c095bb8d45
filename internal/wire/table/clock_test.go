package table

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// For as long as a clock says, an age reads the same; and it is never wrong by more than what is looked at again
// anyway.
func TestUntilAnAgeReadsTheSame(t *testing.T) {
	const day = 24 * time.Hour
	for _, edge := range []time.Duration{
		0, time.Second, 2 * time.Minute, 10 * time.Minute, 3 * time.Hour, 8 * time.Hour, 48 * time.Hour, 8 * day, 2 * 365 * day, 8 * 365 * day, 30 * 365 * day,
	} {
		for _, off := range []time.Duration{-day - 1, -time.Hour, -time.Minute, -1500 * time.Millisecond, -time.Second, -1, 0, 1, time.Second, 59 * time.Minute, 25 * time.Hour} {
			age := edge + off
			clock := Clock{Now: time.Unix(1e9, 0)}
			text := clock.since(clock.Now.Add(-age))
			if want := duration.HumanDuration(age); text != want {
				t.Fatalf("%v reads %s, want %s", age, text, want)
			}
			steady := clock.Until().Sub(clock.Now)
			for _, later := range []time.Duration{1, steady / 3, steady / 2, steady - 1} {
				if got := duration.HumanDuration(age + later); later < steady && got != text {
					t.Errorf("%v reads %s, and %v later already %s, not for %v", age, text, later, got, steady)
				}
			}
			if age >= 0 && age < 8*day && steady > 0 && edge >= 8*time.Hour && steady > time.Hour {
				t.Errorf("%v is taken to read the same for %v", age, steady)
			}
		}
	}
}

// A clock knows the first of several changes, and forgets them when it was asked.
func TestUntilIsTheFirstChange(t *testing.T) {
	clock := Clock{Now: time.Unix(1e9, 0)}
	if !clock.Until().IsZero() {
		t.Error("something changes although nothing was printed")
	}
	clock.since(clock.Now.Add(-90 * time.Minute))
	clock.since(clock.Now.Add(-30*time.Second - 400*time.Millisecond))
	clock.since(clock.Now.Add(-5 * 24 * time.Hour))
	if got := clock.Until().Sub(clock.Now); got != 600*time.Millisecond {
		t.Errorf("reads the same for %v, want 600ms", got)
	}
	if !clock.Until().IsZero() {
		t.Error("the changes are not forgotten")
	}
	clock.till(clock.Now.Add(time.Hour))
	if got := clock.Until(); !got.Equal(clock.Now) {
		t.Errorf("what is to come reads the same until %v", got)
	}
}
