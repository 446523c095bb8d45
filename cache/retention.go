package cache

import "time"

// retention says which events history keeps. The bounds of age and bytes are the lane's options. The floor is not
// configurable. It has the bounds of kube-apiserver's watch cache (semantics 4.1), so that clients can resume a watch
// from each RV from which kube-apiserver can resume it.
//
// The floor can keep every object in memory that changed within floor.age. As in kube-apiserver, only the number of
// events limits this memory.
type retention struct {
	age   time.Duration // maximum age of an event
	bytes int64         // maximum size of all events
	floor floor
}

// floor describes the events that history keeps even above the bounds of age and bytes.
type floor struct {
	age    time.Duration // maximum age of events that are kept
	most   int64         // maximum number of events that are kept for their age
	fewest int64         // number of events that are always kept, however old
}

// watchCacheFloor has kube-apiserver's numbers. 75 s is 1.25 times the bookmark interval.
var watchCacheFloor = floor{age: 75 * time.Second, most: 100 << 10, fewest: 100}

func (r *retention) least() retention { return retention{floor: r.floor} }

// keeps reports whether history keeps an event. behind is the number of later events, bytes the size of all events.
func (r *retention) keeps(age time.Duration, behind, bytes int64) bool {
	return age <= r.age && bytes <= r.bytes || age <= r.floor.age && behind < r.floor.most || behind < r.floor.fewest
}
