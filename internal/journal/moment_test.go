package journal

import (
	"errors"
	"testing"
	"time"
)

func TestParseReadsMoments(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 3, 1, 10, 30, 0, 0, zone)
	at := func(day, hour, minute, second int) Moment {
		return Moment{Time: time.Date(2026, 3, day, hour, minute, second, 0, zone)}
	}
	for text, want := range map[string]Moment{
		"now":                    {Time: now},
		"10m":                    at(1, 10, 20, 0),
		"-10m":                   at(1, 10, 20, 0),
		"1h30m ago":              at(1, 9, 0, 0),
		"0s":                     {Time: now},
		"2026-03-01T08:00:05Z":   at(1, 9, 0, 5),
		"2026-03-01T09:00+01:00": {}, // RFC 3339 requires seconds
		"2026-03-01T09:00":       at(1, 9, 0, 0),
		"2026-03-01 09:00:07":    at(1, 9, 0, 7),
		"09:15":                  at(1, 9, 15, 0),
		"10:30:00":               at(1, 10, 30, 0),
		"23:15":                  {Time: time.Date(2026, 2, 28, 23, 15, 0, 0, zone)},
		"12345":                  {Version: 12345},
		"0":                      {Time: now}, // a duration, as versions begin at 1
		"":                       {},
		"--10m":                  {},
		"yesterday":              {},
		"99999999999999999999":   {},
	} {
		got, err := ParseMoment(text, now)
		if !got.Time.Equal(want.Time) || got.Version != want.Version {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
		if invalid := want == (Moment{}); invalid != errors.Is(err, ErrMoment) || !invalid && err != nil {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}

func TestStringIsParsedToTheSameMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 30, 0, 42, time.UTC)
	for _, m := range []Moment{{Version: 7}, {Time: now}} {
		if got, err := ParseMoment(m.String(), now.Add(time.Hour)); err != nil || got != m {
			t.Errorf("got %v, %v, want %v", got, err, m)
		}
	}
}
