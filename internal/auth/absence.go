package auth

import (
	"errors"
	"fmt"
	"time"
)

// trustLasts is for how long a bundle counts that is not there any more. A file that is replaced and a ConfigMap that
// kube-apiserver writes again are back long before that.
const trustLasts = 10 * time.Minute

// errAbsent says that a bundle is not there, which is not the same as empty: an empty one trusts nobody.
var errAbsent = errors.New("there is none")

// errUnread says that it is not known whether a bundle is there.
var errUnread = errors.New("not read")

// errEmpty says that a bundle's file is empty. A file that is rewritten in place is so for a moment.
var errEmpty = errors.New("empty")

// absence is since when a bundle has not been there that counted before. The zero value is that it is there.
type absence struct {
	since time.Time
	empty bool // it was empty when it was read last
}

// note takes in how a bundle was read and whether one counts so far. It tells whether that counts no longer, and what
// is wrong, in the same words each time. An empty file has to be read twice in a row, and time runs out only when the
// bundle is known to be gone.
func (a *absence) note(name string, err error, counts bool) (over bool, wrong error) {
	switch {
	case err == nil:
		*a = absence{}
		return false, nil
	case errors.Is(err, errEmpty):
		over = a.empty || !counts
		*a = absence{empty: true}
		return over, nil
	case errors.Is(err, errUnread): // which is an error of its own, and does not say that the bundle is still gone
		return false, nil
	case !errors.Is(err, errAbsent): // it is there again
		*a = absence{}
		return false, fmt.Errorf("read the %s: %w", name, err)
	case a.since.IsZero() && !counts: // it never was there
		return false, nil
	case a.since.IsZero():
		*a = absence{since: time.Now()}
	}
	end := a.since.Add(trustLasts).UTC().Format(time.RFC3339)
	if a.isOver() {
		return true, fmt.Errorf("the %s is gone, and no longer counts since %s: %w", name, end, err)
	}
	return false, fmt.Errorf("the %s is gone, and counts until %s: %w", name, end, err)
}

func (a *absence) isOver() bool { return !a.since.IsZero() && time.Since(a.since) >= trustLasts }
