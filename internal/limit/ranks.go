package limit

// Rank is the precedence of work in Adaptive.
type Rank int

// Values of Rank. Work of rank First gets free seats before other work. Work of rank InTurns is queued per key. Work of
// rank Last gets the seats that no other work needs, and one of every lastTurn seats. A group of rank Last has at most
// a quarter of all seats. Any other group has at most half.
const (
	First Rank = iota
	InTurns
	Last
	ranks = iota
)

const lastTurn = 16

func (p *Seats) groupBound(g *group) int64 {
	if g.key.rank == Last {
		return max(1, p.bounds.All/4)
	}
	return p.bounds.Group
}

// idle reports whether no request waits for free seats. Requests may still wait for the limit of their key or group.
func (p *Seats) idle() bool {
	for _, queue := range p.queues {
		if queue.Len() > 0 {
			return false
		}
	}
	return true
}

// next returns the group with the next turn, or nil if idle.
func (p *Seats) next() *group {
	if p.passed >= lastTurn-1 {
		if g := p.nextOf(Last); g != nil {
			return g
		}
	}
	for rank := range Rank(ranks) {
		if g := p.nextOf(rank); g != nil {
			return g
		}
	}
	return nil
}

// nextOf returns the next group of a rank. Groups that exceed their limit after a resize are removed from the queue.
func (p *Seats) nextOf(rank Rank) *group {
	queue := p.queues[rank]
	for e := queue.Front(); e != nil; e = queue.Front() {
		g := e.Value.(*group)
		if p.enterGroup(g); g.queued != nil {
			return g
		}
	}
	return nil
}

// pass counts a seat that was given to a group while work of rank Last waits.
func (p *Seats) pass(to *group) {
	if to.key.rank == Last || p.queues[Last].Len() == 0 {
		p.passed = 0
	} else {
		p.passed++
	}
}

// resize changes the number of seats. A key and a group get at most half of the seats. After a reduction, requests wait
// until enough seats have returned. A group that waits for its own limit is checked again when it returns a seat.
func (p *Seats) resize(all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += all - p.bounds.All
	p.bounds.All, p.bounds.One, p.bounds.Group = all, halfOf(all), halfOf(all)
	p.serve()
}

func halfOf(all int64) int64 { return max(1, all/2) }
