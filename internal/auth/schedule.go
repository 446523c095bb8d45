package auth

import (
	"container/heap"
	"container/list"
	"time"

	"golang.org/x/time/rate"
)

// schedule says which decision is reviewed when: after its time has come, those first that events wait for, and each
// kind at its rate. What is being reviewed is not in it. Not safe for concurrent use.
type schedule struct {
	later later
	lines [priorities]*list.List
	rates [priorities]*rate.Limiter
}

func newSchedule(config WatchAuthorizationConfig) schedule {
	// Bursts of one: the rate is an even one.
	hasty, steady := rate.NewLimiter(rate.Limit(config.UrgentPerSecond), 1), rate.NewLimiter(rate.Limit(config.PerSecond), 1)
	return schedule{
		lines: [priorities]*list.List{list.New(), list.New(), list.New()}, rates: [priorities]*rate.Limiter{hasty, hasty, steady},
	}
}

// put schedules a decision anew. Of two times for the same turn, the earlier counts; a turn is never put off for one
// that is less urgent.
func (s *schedule) put(h *sharedDecision, at time.Time, when priority) {
	if s.has(h) && (h.priority < when || h.priority == when && (h.line != nil || h.at.Before(at))) {
		return
	}
	s.remove(h)
	h.at, h.priority = at, when
	heap.Push(&s.later, h)
}

func (s *schedule) has(h *sharedDecision) bool { return h.index >= 0 || h.line != nil }

// hurry puts a decision before those that no event waits for.
func (s *schedule) hurry(h *sharedDecision) {
	switch {
	case h.line != nil && h.priority > awaited:
		s.remove(h)
		h.priority = awaited
		s.queue(h)
	case h.index >= 0:
		h.priority = awaited
	}
}

func (s *schedule) queue(h *sharedDecision) {
	h.line = s.lines[h.priority]
	h.element = h.line.PushBack(h)
}

func (s *schedule) remove(h *sharedDecision) {
	if h.index >= 0 {
		heap.Remove(&s.later, h.index)
	}
	if h.line != nil {
		h.line.Remove(h.element)
		h.line, h.element = nil, nil
	}
}

// next takes out what is to be reviewed now; nil when nothing is, and then after how long to look again.
func (s *schedule) next(now time.Time) (*sharedDecision, time.Duration) {
	for len(s.later) > 0 && !s.later[0].at.After(now) {
		s.queue(heap.Pop(&s.later).(*sharedDecision))
	}
	wait := time.Duration(-1)
	sooner := func(d time.Duration) {
		if wait < 0 || d < wait {
			wait = d
		}
	}
	for i, line := range s.lines {
		front := line.Front()
		if front == nil {
			continue
		}
		if missing := 1 - s.rates[i].TokensAt(now); missing > 0 {
			// A microsecond more than it takes, so that rounding does not make two looks of one.
			sooner(time.Duration(missing/float64(s.rates[i].Limit())*float64(time.Second)) + time.Microsecond)
			continue
		}
		s.rates[i].AllowN(now, 1)
		h := front.Value.(*sharedDecision)
		s.remove(h)
		return h, 0
	}
	if len(s.later) > 0 {
		sooner(s.later[0].at.Sub(now))
	}
	return nil, wait
}

// later is a heap of what is not due yet, the earliest first.
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
	h := x.(*sharedDecision)
	h.index = len(*l)
	*l = append(*l, h)
}

// Pop implements heap.Interface.
func (l *later) Pop() any {
	last := len(*l) - 1
	h := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	h.index = -1
	return h
}

// idle tells whether nothing is due.
func (s *schedule) idle(now time.Time) bool {
	for _, line := range s.lines {
		if line.Len() > 0 {
			return false
		}
	}
	return len(s.later) == 0 || s.later[0].at.After(now)
}
