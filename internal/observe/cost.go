package observe

import "time"

// Cost contains the amounts of resources that a request has used.
type Cost struct {
	Bytes int64 // of the body, after compression
	// CPU is an estimate: the time during which the request's goroutine did not wait. For a write to the client, CPU
	// includes at most the time that the write takes if the client accepts all bytes immediately. CPU also includes
	// waiting for a processor, and excludes the work of other goroutines.
	CPU       time.Duration
	Objects   int64 // objects examined for the response
	Forwarded int64 // 1 if the upstream answered
	Events    int64 // of watches that the cache answers, bookmarks included
}

func (c Cost) less(other Cost) Cost {
	return Cost{
		Bytes: max(c.Bytes-other.Bytes, 0), CPU: max(c.CPU-other.CPU, 0), Objects: max(c.Objects-other.Objects, 0),
		Forwarded: max(c.Forwarded-other.Forwarded, 0), Events: max(c.Events-other.Events, 0),
	}
}

func (c Cost) plus(other Cost) Cost {
	return Cost{
		Bytes: c.Bytes + other.Bytes, CPU: c.CPU + other.CPU, Objects: c.Objects + other.Objects,
		Forwarded: c.Forwarded + other.Forwarded, Events: c.Events + other.Events,
	}
}

func (e *Event) cost() Cost {
	c := Cost{Bytes: e.Bytes, CPU: e.Took, Objects: int64(e.Looked), Forwarded: e.forwarded()}
	if e.Verb == "watch" {
		c.Events = int64(e.Returned)
	}
	for step, waited := range e.Waits {
		if Step(step) != Encoding { // encoding is work, not waiting
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

// Charge returns the cost of a request that has ended, minus the cost that Progress.Charge has already returned.
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

// Charge returns the cost that a request in flight has caused since the last call, and the request's Event. The caller
// may read only the fields of the Event that are settled after Progress.Answering. ok is false if there was no cost, if
// the request has ended, or if its response has not begun.
func (p *Progress) Charge() (e *Event, since Cost, ok bool) {
	pause := p.pause.Load() // read before the costs; otherwise restsStill could miss costs between both reads
	if p.settled.Load() < answering || p.restsStill(pause) {
		return nil, Cost{}, false
	}
	p.charging.Lock()
	defer p.charging.Unlock()
	if p.over {
		return nil, Cost{}, false
	}
	e = p.event
	defer p.restsAt(pause)
	since = p.charge(Cost{
		Bytes: p.bytes.Load(), CPU: p.busy(time.Since(e.Began)), Events: p.events.Load(), Forwarded: e.forwarded(),
	})
	return e, since, since != Cost{}
}

// restsStill reports whether the watch has rested since the last charge and therefore caused no cost. Most watches rest
// for most of the time, and reading the other fields of a hundred thousand watches would take several times as long.
func (p *Progress) restsStill(pause int64) bool { return pause != noPause && pause == p.rested.Load() }

// restsAt stores the pause for restsStill if the watch rests, and noPause otherwise.
func (p *Progress) restsAt(pause int64) {
	if what, _ := unpacked(pause); what != resting {
		pause = noPause
	}
	p.rested.Store(pause)
}

// charge returns the part of soFar that no earlier call returned. The caller holds the mutex p.charging.
func (p *Progress) charge(soFar Cost) Cost {
	since := soFar.less(p.charged)
	p.charged = p.charged.plus(since)
	return since
}
