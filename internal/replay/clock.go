package replay

import "time"

// clock is the time that is replayed. Immutable; safe for concurrent use.
type clock struct {
	began time.Time // when the replay began
	from  time.Time // recorded time when the replay began
	speed float64   // recorded seconds per real second; 0 stops the clock
}

func (c *clock) now() time.Time {
	return c.from.Add(time.Duration(float64(time.Since(c.began)) * c.speed))
}

// until returns the real duration until a replayed time. The speed must not be 0.
func (c *clock) until(at time.Time) time.Duration {
	return time.Duration(float64(at.Sub(c.now())) / c.speed)
}
