package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MomentForms describes the texts that ParseMoment accepts, for the help of flags.
const MomentForms = "a time (2026-01-31T03:47:00Z, or 03:47 in local time), a duration before now (10m) " +
	"or a resourceVersion"

// ErrMoment is returned by ParseMoment for a text that is not a moment.
var ErrMoment = errors.New("want " + MomentForms)

// Moment is either a time or a resourceVersion; the unused field is zero.
type Moment struct {
	Time    time.Time
	Version uint64
}

// String returns the moment in a form that ParseMoment accepts.
func (m Moment) String() string {
	if m.Version > 0 {
		return strconv.FormatUint(m.Version, 10)
	}
	return m.Time.UTC().Format(time.RFC3339Nano)
}

// CutOf returns the cut at a moment. The zero Moment is earlier than all records.
func CutOf(ctx context.Context, dir string, m Moment) (Cut, error) {
	if m.Version > 0 {
		return CutAtVersion(dir, m.Version)
	}
	return CutAt(ctx, dir, m.Time)
}

var (
	// Layouts of times without a zone.
	dated  = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}
	clocks = []string{"15:04:05", "15:04"}
)

// ParseMoment reads a moment: "now"; a resourceVersion; a duration before now, such as 10m, -10m or "10m ago"; a time
// in the format of RFC 3339; a date and a time; or a time of day. Dates and times of day are in the location of now. A
// time of day that is later than now belongs to yesterday. Errors wrap ErrMoment.
func ParseMoment(text string, now time.Time) (Moment, error) {
	if text == "now" {
		return Moment{Time: now}, nil
	}
	if version, err := strconv.ParseUint(text, 10, 64); err == nil && version > 0 {
		return Moment{Version: version}, nil
	}
	if ago, err := time.ParseDuration(strings.TrimSuffix(strings.TrimPrefix(text, "-"), " ago")); err == nil && ago >= 0 {
		return Moment{Time: now.Add(-ago)}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return Moment{Time: at}, nil
	}
	if at, ok := local(text, now); ok {
		return Moment{Time: at}, nil
	}
	return Moment{}, fmt.Errorf("%q: %w", text, ErrMoment)
}

func local(text string, now time.Time) (time.Time, bool) {
	for _, layout := range dated {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	for _, layout := range clocks {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		year, month, day := now.Date()
		at := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
		if at.After(now) {
			at = time.Date(year, month, day-1, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
		}
		return at, true
	}
	return time.Time{}, false
}
