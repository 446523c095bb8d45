package replay

import "time"

// clock is the time that is replayed. Immutable; safe for concurrent use.
type clock struct {
	began time.Time // when the replay began
	from  time.Time // time of the journal at that moment
	speed float64   // seconds of the journal per second; 0 does not move
}

// now returns the time of the journal.
func (c *clock) now() time.Time {
	return c.from.Add(time.Duration(float64(time.Since(c.began)) * c.speed))
}

// until returns how long it takes until a time of the journal. The speed must not be 0.
func (c *clock) until(at time.Time) time.Duration {
	return time.Duration(float64(at.Sub(c.now())) / c.speed)
}
