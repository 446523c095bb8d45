package auth

import (
	"errors"
	"fmt"
	"time"
)

// absenceGrace is how long a CA bundle stays trusted after it disappeared. Replacing a bundle takes less time.
const absenceGrace = 10 * time.Minute

// errAbsent is returned when there is no bundle. An empty bundle is different: it withdraws trust.
var errAbsent = errors.New("not found")

// errUnread is returned when the ConfigMap could not be read, so it is unknown whether it contains a bundle.
var errUnread = errors.New("not read")

// errEmpty is returned when the file of a bundle is empty. A file that is rewritten in place is empty for a moment.
var errEmpty = errors.New("empty")

// absence records since when a trusted bundle is missing.
type absence struct {
	since time.Time
	empty bool // whether the last read found an empty file
}

// note records the result of reading a bundle. The argument counts says whether the bundle is trusted now. The result
// over is true if trust must be withdrawn: if the file is empty twice in a row, or absenceGrace after the bundle
// disappeared. The result wrong is the problem to log. Trust logs a problem again when its text changes, so the text
// does not contain the current time.
func (a *absence) note(name string, err error, counts bool) (over bool, wrong error) {
	switch {
	case err == nil:
		*a = absence{}
		return false, nil
	case errors.Is(err, errEmpty):
		over = a.empty || !counts
		*a = absence{empty: true}
		return over, nil
	case errors.Is(err, errUnread): // reported separately; the bundle may exist
		return false, nil
	case !errors.Is(err, errAbsent): // the bundle exists, but cannot be used
		*a = absence{}
		return false, fmt.Errorf("read the %s: %w", name, err)
	case a.since.IsZero() && !counts: // there was no bundle before
		return false, nil
	case a.since.IsZero():
		*a = absence{since: time.Now()}
	}
	end := a.since.Add(absenceGrace).UTC().Format(time.RFC3339)
	if a.isOver() {
		return true, fmt.Errorf("read the %s: %w; the last one has not been trusted since %s", name, err, end)
	}
	return false, fmt.Errorf("read the %s: %w; the last one stays trusted until %s", name, err, end)
}

func (a *absence) isOver() bool { return !a.since.IsZero() && time.Since(a.since) >= absenceGrace }
