package fresh

import (
	"context"
	"sync"
	"time"
)

// pace spaces the questions that prove caches fresh. A reader alone is answered at once. The more of them wait at a
// time, the longer a question is held back for others to join it, so that a thousand readers cost the upstream hardly
// more than one.
type pace struct {
	mu      sync.Mutex
	readers int       // whose proof is under way, or whom the upstream answers because there was none
	next    time.Time // when the next question may be sent
}

const (
	// spacing is how much each reader beyond the first adds to the distance between two questions.
	spacing = 10 * time.Millisecond
	// widest bounds that distance: 25 questions a second.
	widest = 40 * time.Millisecond
	// credit is how much of the distance may be made up for after a time without questions.
	credit = 10 * widest
	// longest bounds how long a question is held back behind those of other lanes.
	longest = time.Second
)

// begin counts a reader in; the caller calls end.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers++
}

func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers--
}

// alone tells whether no more than one reader was counted in.
func (p *pace) alone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readers <= 1
}

// take reserves the moment for one question and returns how far away it is.
func (p *pace) take(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if oldest := now.Add(-credit); p.next.Before(oldest) {
		p.next = oldest
	}
	wait := max(p.next.Sub(now), 0)
	distance := min(time.Duration(max(p.readers-1, 0))*spacing, widest)
	p.next = p.next.Add(min(distance, (longest-wait)/4)) // the longer the queue, the closer
	return wait
}

// await returns when the moment for a question has come.
func (p *pace) await(ctx context.Context) error {
	wait := p.take(time.Now())
	if wait == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
