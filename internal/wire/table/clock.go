package table

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Clock is the time that ages are relative to. It records the earliest time at which a rendered age changes. Used by
// one goroutine.
type Clock struct {
	Now   time.Time
	until time.Time // earliest time at which a rendered text changes; zero if none can change
}

// Until returns the earliest time at which one of the ages rendered since the last call changes; zero if none was
// rendered. The result may be too early, but never too late.
func (c *Clock) Until() time.Time {
	until := c.until
	c.until = time.Time{}
	return until
}

func (c *Clock) changes(at time.Time) {
	if c.until.IsZero() || at.Before(c.until) {
		c.until = at
	}
}

// since returns the time since a moment in the format of kube-apiserver's printers.
func (c *Clock) since(then time.Time) string {
	age := c.Now.Sub(then)
	c.changes(c.Now.Add(steady(age)))
	return duration.HumanDuration(age)
}

func (c *Clock) till(then time.Time) string {
	c.changes(c.Now)
	return duration.HumanDuration(then.Sub(c.Now))
}

// steady returns a lower bound for how long the text of an age stays the same: until the next multiple of its smallest
// printed unit.
func steady(age time.Duration) time.Duration {
	const day = 24 * time.Hour
	unit := day
	switch {
	case age < 0:
		return 0
	case age < 10*time.Minute:
		unit = time.Second
	case age < 8*time.Hour:
		unit = time.Minute
	case age < 8*day:
		unit = time.Hour
	}
	return unit - age%unit
}
