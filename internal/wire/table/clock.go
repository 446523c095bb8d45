package table

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Clock is the moment that ages are counted to. It learns until when the ages that it was asked for read as they do.
// Used by one goroutine.
type Clock struct {
	Now   time.Time
	until time.Time // zero while nothing was asked that ever changes
}

// Until is when the first of the ages that were read since the last call reads differently; zero when there were none.
// It may be earlier than that, and never later.
func (c *Clock) Until() time.Time {
	until := c.until
	c.until = time.Time{}
	return until
}

// changes notes that a text is another at a moment.
func (c *Clock) changes(at time.Time) {
	if c.until.IsZero() || at.Before(c.until) {
		c.until = at
	}
}

// since prints the time that passed since a moment as every printer of kube-apiserver does; one in the future reads
// <invalid>.
func (c *Clock) since(then time.Time) string {
	age := c.Now.Sub(then)
	c.changes(c.Now.Add(steady(age)))
	return duration.HumanDuration(age)
}

// till prints the time until a moment.
func (c *Clock) till(then time.Time) string {
	c.changes(c.Now)
	return duration.HumanDuration(then.Sub(c.Now))
}

// steady is for how long an age reads the same, at least: until it is a multiple of the smallest unit that is printed
// of its size.
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
