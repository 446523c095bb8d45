package limit

import "time"

// debtLasts is after how long one place is forgotten.
const debtLasts = time.Second

// debts count places that were won from others and then left, by key; of each key one is forgotten each second. Its
// zero value is empty. Used by one goroutine at a time.
type debts[K comparable] struct {
	until map[K]time.Time // when a key owes nothing any more
	look  time.Time       // when to drop such keys again
}

// add notes one more place of a key.
func (d *debts[K]) add(who K, now time.Time) {
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
	until := d.until[who]
	if until.Before(now) {
		until = now
	}
	d.until[who] = until.Add(debtLasts)
}

// owed is how many places of a key are not forgotten yet.
func (d *debts[K]) owed(who K, now time.Time) int {
	left := d.until[who].Sub(now)
	return max(0, int((left+debtLasts-1)/debtLasts))
}
