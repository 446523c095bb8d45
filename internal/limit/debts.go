package limit

import "time"

const debtDuration = time.Second

// debts counts, per key, the streams that displaced another stream and then left. One debt of each key expires every
// debtDuration. The zero value is empty. Not safe for concurrent use.
type debts[K comparable] struct {
	until map[K]time.Time // time at which the last debt of a key expires
	look  time.Time       // next cleanup of expired keys
}

func (d *debts[K]) add(key K, now time.Time) {
	if d.until == nil {
		d.until = map[K]time.Time{}
	}
	if !now.Before(d.look) {
		for key, until := range d.until {
			if !until.After(now) {
				delete(d.until, key)
			}
		}
		d.look = now.Add(time.Minute)
	}
	until := d.until[key]
	if until.Before(now) {
		until = now
	}
	d.until[key] = until.Add(debtDuration)
}

func (d *debts[K]) owed(key K, now time.Time) int {
	left := d.until[key].Sub(now)
	return max(0, int((left+debtDuration-1)/debtDuration))
}
