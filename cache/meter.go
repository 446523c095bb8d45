package cache

import (
	"math"
	"time"
)

// meter adds up values that decay by half every five minutes.
type meter struct {
	value float64
	last  time.Time
}

const halfForgotten = 5 * time.Minute

func (m *meter) add(more float64, now time.Time, most float64) {
	m.value, m.last = min(m.at(now)+more, most), now
}

func (m *meter) at(now time.Time) float64 {
	if m.value == 0 {
		return 0
	}
	return m.value * math.Exp2(-float64(now.Sub(m.last))/float64(halfForgotten))
}
