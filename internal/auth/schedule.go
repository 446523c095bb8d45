package auth

import (
	"container/heap"
	"container/list"
	"time"

	"golang.org/x/time/rate"
)

// schedule orders the reviews for watches. A decision waits until its time, and then in the queue of its priority. Each
// queue is served at a limited rate. A decision under review is not in the schedule. Not safe for concurrent use.
type schedule struct {
	later  later
	queues [priorities]*list.List
	rates  [priorities]*rate.Limiter
}

func newSchedule(config WatchAuthorizationConfig) schedule {
	// A burst of 1 spreads reviews evenly.
	urgentRate, periodicRate := rate.NewLimiter(rate.Limit(config.UrgentPerSecond), 1),
		rate.NewLimiter(rate.Limit(config.PerSecond), 1)
	return schedule{
		queues: [priorities]*list.List{list.New(), list.New(), list.New()},
		rates:  [priorities]*rate.Limiter{urgentRate, urgentRate, periodicRate},
	}
}

// put schedules a decision. It does not move a scheduled decision to a lower priority, or to a later time of the same
// priority.
func (s *schedule) put(d *sharedDecision, at time.Time, when priority) {
	if s.has(d) && (d.priority < when || d.priority == when && (d.queue != nil || d.at.Before(at))) {
		return
	}
	s.remove(d)
	d.at, d.priority = at, when
	heap.Push(&s.later, d)
}

func (s *schedule) has(d *sharedDecision) bool { return d.index >= 0 || d.queue != nil }

// expedite moves a scheduled decision to the highest priority, because an event waits for it.
func (s *schedule) expedite(d *sharedDecision) {
	switch {
	case d.queue != nil && d.priority > awaited:
		s.remove(d)
		d.priority = awaited
		s.enqueue(d)
	case d.index >= 0:
		d.priority = awaited
	}
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

// next removes and returns the next due decision. If none is due, it returns nil and the delay until the next check.
func (s *schedule) next(now time.Time) (*sharedDecision, time.Duration) {
	for len(s.later) > 0 && !s.later[0].at.After(now) {
		s.enqueue(heap.Pop(&s.later).(*sharedDecision))
	}
	wait := time.Duration(-1)
	shorten := func(d time.Duration) {
		if wait < 0 || d < wait {
			wait = d
		}
	}
	for i, queue := range s.queues {
		front := queue.Front()
		if front == nil {
			continue
		}
		if missing := 1 - s.rates[i].TokensAt(now); missing > 0 {
			// One microsecond more, so rounding does not cause a second check.
			shorten(time.Duration(missing/float64(s.rates[i].Limit())*float64(time.Second)) + time.Microsecond)
			continue
		}
		s.rates[i].AllowN(now, 1)
		d := front.Value.(*sharedDecision)
		s.remove(d)
		return d, 0
	}
	if len(s.later) > 0 {
		shorten(s.later[0].at.Sub(now))
	}
	return nil, wait
}

// later is a heap of the decisions that are not due, earliest first.
type later []*sharedDecision

// Len implements heap.Interface.
func (l later) Len() int { return len(l) }

// Less implements heap.Interface.
func (l later) Less(i, j int) bool { return l[i].at.Before(l[j].at) }

// Swap implements heap.Interface.
func (l later) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push implements heap.Interface.
func (l *later) Push(x any) {
	d := x.(*sharedDecision)
	d.index = len(*l)
	*l = append(*l, d)
}

// Pop implements heap.Interface.
func (l *later) Pop() any {
	last := len(*l) - 1
	d := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	d.index = -1
	return d
}

// idle reports whether no decision is due.
func (s *schedule) idle(now time.Time) bool {
	for _, queue := range s.queues {
		if queue.Len() > 0 {
			return false
		}
	}
	return len(s.later) == 0 || s.later[0].at.After(now)
}
