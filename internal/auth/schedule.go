package auth

import (
	"container/heap"
	"container/list"
	"time"

	"golang.org/x/time/rate"
)

// schedule orders the reviews for watches. A decision waits until its time, and then in the queue of its priority.
// Periodic reviews have a limited rate. A decision under review is not in the schedule. Not safe for concurrent use.
type schedule struct {
	later    later
	queues   [priorities]*list.List
	periodic *rate.Limiter
}

func newSchedule(config WatchAuthorizationConfig) schedule {
	return schedule{
		queues:   [priorities]*list.List{list.New(), list.New(), list.New()},
		periodic: rate.NewLimiter(rate.Limit(config.PerSecond), 1), // a burst of 1 spreads reviews evenly
	}
}

// put schedules a decision. It never moves a decision to a lower priority, or to a later time of the same priority.
func (s *schedule) put(d *sharedDecision, at time.Time, when priority) {
	if d.eventWaits {
		when = awaited
	}
	if s.has(d) && (d.priority < when || d.priority == when && (d.queue != nil || d.at.Before(at))) {
		return
	}
	s.remove(d)
	d.at, d.priority = at, when
	heap.Push(&s.later, d)
}

func (s *schedule) has(d *sharedDecision) bool { return d.index >= 0 || d.queue != nil }

// expedite moves a scheduled decision to the highest priority, because an event waits for it. It reports whether a due
// decision moved to an earlier queue.
func (s *schedule) expedite(d *sharedDecision) bool {
	d.eventWaits = true
	overtakes := d.queue != nil && d.priority > awaited
	if overtakes {
		s.remove(d)
	}
	d.priority = awaited
	if overtakes {
		s.enqueue(d)
	}
	return overtakes
}

func (s *schedule) enqueue(d *sharedDecision) {
	d.queue = s.queues[d.priority]
	d.element = d.queue.PushBack(d)
}

func (s *schedule) remove(d *sharedDecision) {
	if d.index >= 0 {
		heap.Remove(&s.later, d.index)
	}
	if d.queue != nil {
		d.queue.Remove(d.element)
		d.queue, d.element = nil, nil
	}
}

// due reports for which turns reviews are due. after is the time until another review can become due; below 0 if there
// is none.
func (s *schedule) due(now time.Time) (due [turns]bool, after time.Duration) {
	for len(s.later) > 0 && !s.later[0].at.After(now) {
		s.enqueue(heap.Pop(&s.later).(*sharedDecision))
	}
	after = -1
	if len(s.later) > 0 {
		after = s.later[0].at.Sub(now)
	}
	due[ofChanges] = s.queues[awaited].Len() > 0 || s.queues[urgent].Len() > 0
	if s.queues[periodic].Len() == 0 {
		return due, after
	}
	missing := 1 - s.periodic.TokensAt(now)
	if due[inPeriods] = missing <= 0; due[inPeriods] {
		return due, after
	}
	// One microsecond more, so rounding does not cause a second check.
	refill := time.Duration(missing/float64(s.periodic.Limit())*float64(time.Second)) + time.Microsecond
	if after < 0 || refill < after {
		after = refill
	}
	return due, after
}

// take removes and returns the next due decision among the priorities of a turn; nil if there is none.
func (s *schedule) take(of turn, now time.Time) *sharedDecision {
	from := s.queues[:periodic]
	if of == inPeriods {
		from = s.queues[periodic:]
		s.periodic.AllowN(now, 1)
	}
	for _, queue := range from {
		if front := queue.Front(); front != nil {
			d := front.Value.(*sharedDecision)
			s.remove(d)
			return d
		}
	}
	return nil
}

// later is a heap of the decisions that are not due, earliest first.
type later []*sharedDecision

func (l later) Len() int { return len(l) }

func (l later) Less(i, j int) bool { return l[i].at.Before(l[j].at) }

func (l later) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

func (l *later) Push(x any) {
	d := x.(*sharedDecision)
	d.index = len(*l)
	*l = append(*l, d)
}

func (l *later) Pop() any {
	last := len(*l) - 1
	d := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	d.index = -1
	return d
}
