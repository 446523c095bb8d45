package observe

import "time"

// Cost is what a request takes.
type Cost struct {
	Bytes int64 // of the body, after compression
	// CPU is an estimate: the time in which the request's goroutine was not waiting. Of a write no more counts than it
	// takes where the client accepts at once. On a busy machine it includes what was waited for a processor; what other
	// goroutines do for the request, as those of an HTTP/2 connection, is not in it.
	CPU       time.Duration
	Objects   int64 // that were compared with what was asked for
	Forwarded int64 // 1 when the upstream answered
	Events    int64 // of watches that the cache answers, bookmarks included
}

// less is what a cost is more than another, in each part.
func (c Cost) less(other Cost) Cost {
	return Cost{
		Bytes: max(c.Bytes-other.Bytes, 0), CPU: max(c.CPU-other.CPU, 0), Objects: max(c.Objects-other.Objects, 0),
		Forwarded: max(c.Forwarded-other.Forwarded, 0), Events: max(c.Events-other.Events, 0),
	}
}

// plus is the sum of two costs.
func (c Cost) plus(other Cost) Cost {
	return Cost{
		Bytes: c.Bytes + other.Bytes, CPU: c.CPU + other.CPU, Objects: c.Objects + other.Objects,
		Forwarded: c.Forwarded + other.Forwarded, Events: c.Events + other.Events,
	}
}

// cost is what the whole request took.
func (e *Event) cost() Cost {
	c := Cost{Bytes: e.Bytes, CPU: e.Took, Objects: int64(e.Looked), Forwarded: e.forwarded()}
	if e.Verb == "watch" {
		c.Events = int64(e.Returned)
	}
	for step, waited := range e.Waits {
		if Step(step) != Encoding { // which is work
			c.CPU -= waited
		}
	}
	if e.Progress != nil {
		c.CPU = e.Progress.busy(e.Took)
	}
	c.CPU = max(c.CPU, 0)
	return c
}

func (e *Event) forwarded() int64 {
	if e.Source == FromUpstream {
		return 1
	}
	return 0
}

// Charge returns what a request that is over took, less what it was charged with while it was under way.
func (e *Event) Charge() Cost {
	if e.Progress == nil {
		return e.cost()
	}
	p := e.Progress
	p.charging.Lock()
	defer p.charging.Unlock()
	p.over = true
	return p.charge(e.cost())
}

// Charge returns what a request under way took since the last time, and the Event that says whose it is: of that, what
// Answering settles may be read. ok is false when it took nothing, or is over, or its answer has not begun.
func (p *Progress) Charge() (e *Event, since Cost, ok bool) {
	if p.settled.Load() < answering {
		return nil, Cost{}, false
	}
	p.charging.Lock()
	defer p.charging.Unlock()
	if p.over {
		return nil, Cost{}, false
	}
	e = p.event
	since = p.charge(Cost{
		Bytes: p.bytes.Load(), CPU: p.busy(time.Since(e.Began)), Events: p.events.Load(), Forwarded: e.forwarded(),
	})
	return e, since, since != Cost{}
}

// charge is called with charging held.
func (p *Progress) charge(soFar Cost) Cost {
	since := soFar.less(p.charged)
	p.charged = p.charged.plus(since)
	return since
}
