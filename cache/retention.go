package cache

import "time"

// retention is what history keeps. The bounds of age and bytes are the lane's options; below both is a floor that no
// option lowers: what kube-apiserver's watch cache keeps (semantics 4.1), so that a client which it would let watch on
// is not sent away here.
//
// What the floor may cost is the content of every object that changed within its age, so it is bounded by the number of
// events alone, as it is there.
type retention struct {
	age   time.Duration // of an event
	bytes int64         // of all events
	floor floor
}

// floor is kept whatever the bounds are.
type floor struct {
	age    time.Duration // up to it events are kept,
	most   int64         // but not more than so many,
	fewest int64         // and not fewer than so many, however old
}

// watchCacheFloor has the numbers of kube-apiserver: 75 s are the time between two bookmarks and a quarter of it.
var watchCacheFloor = floor{age: 75 * time.Second, most: 100 << 10, fewest: 100}

// least is what is kept when nothing more than the floor is to be.
func (r *retention) least() retention { return retention{floor: r.floor} }

// keeps reports whether an event of an age is kept that has so many others behind it, when all events have so many
// bytes.
func (r *retention) keeps(age time.Duration, behind, bytes int64) bool {
	return age <= r.age && bytes <= r.bytes || age <= r.floor.age && behind < r.floor.most || behind < r.floor.fewest
}
