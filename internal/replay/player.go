package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
)

const (
	// tick is the interval at which the player drops old events of the lanes, and calls the function ticked of run.
	tick = 10 * time.Second
	// skew is the assumed maximum difference between the times at which two lanes receive the same resourceVersion.
	skew = 10 * time.Second
	// versionsAtOnce is the maximum number of resourceVersions that the player applies while reads wait.
	versionsAtOnce = 1000
)

// recording is a lane with the steps that follow its content.
type recording struct {
	*lane
	name  string
	steps *track
	last  *step // last step that was applied, without its content
	lost  bool  // whether the lane has a warning
}

// player applies the recorded steps to the lanes. One goroutine calls its methods.
type player struct {
	recordings []*recording
	clock      *clock
	writes     *sync.RWMutex
	log        *zap.Logger
	version    uint64 // highest resourceVersion of all lanes
	over       bool   // whether the journal has no more steps
}

// run plays until the context ends. It calls the function ticked once per tick, unless the clock is stopped.
func (p *player) run(ctx context.Context, ticked func(ctx context.Context, now time.Time)) {
	if p.clock.speed == 0 {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		p.advance(p.clock.now())
		due := time.NewTimer(p.pause())
		select {
		case <-due.C:
		case <-ticker.C:
			for _, r := range p.recordings {
				r.store.Trim()
			}
			ticked(ctx, p.clock.now())
		case <-ctx.Done():
			due.Stop()
			return
		}
		due.Stop()
	}
}

// pause returns the time until the next step is due, at most tick.
func (p *player) pause() time.Duration {
	pause := tick
	for _, r := range p.recordings {
		if s := r.steps.peek(); s != nil {
			pause = min(pause, p.clock.until(s.at))
		}
	}
	return max(pause, time.Millisecond)
}

// advance applies the steps up to a time, in the order of their resourceVersions. Before a step, it applies all events
// with lower resourceVersions, even those with a later time.
func (p *player) advance(now time.Time) {
	for p.advanceOnce(now) {
	}
	p.noteEnd()
}

// advanceOnce applies at most versionsAtOnce versions. It reports whether more are due.
func (p *player) advanceOnce(now time.Time) (more bool) {
	p.writes.Lock()
	defer p.writes.Unlock()
	for range versionsAtOnce {
		var due uint64
		if due, more = p.due(now); !more {
			break
		}
		for _, r := range p.recordings {
			r.playTo(due, now, p.log)
		}
		p.version = max(p.version, due)
	}
	p.settle(now)
	return more
}

// due returns the lowest resourceVersion of the lanes' next steps up to a time. ok is false if there is no such step.
func (p *player) due(now time.Time) (rv uint64, ok bool) {
	for _, r := range p.recordings {
		if s := r.steps.peek(); s != nil && !s.at.After(now) && (!ok || s.rv < rv) {
			rv, ok = s.rv, true
		}
	}
	return rv, ok
}

// settle advances all lanes to the player's version. A lane that is not recorded at this version gets a warning
// instead.
func (p *player) settle(now time.Time) {
	for _, r := range p.recordings {
		if r.last == nil {
			continue // the lane was recorded only later
		}
		if lost := r.isLost(p.version, now); lost != r.lost {
			r.lost = lost
			r.warn("")
			if lost {
				r.warn(r.describeLoss())
			}
		}
		if !r.lost {
			r.store.Progress(cache.RV(p.version))
		}
	}
}

func (p *player) noteEnd() {
	for _, r := range p.recordings {
		if r.steps.peek() != nil {
			return
		}
	}
	if !p.over {
		p.over = true
		p.log.Info("The journal has no later events", zap.Time("time", p.clock.now()),
			zap.Uint64("resourceVersion", p.version))
	}
}

// playTo applies the steps up to a resourceVersion. It applies no list before the time of the list. A list can have a
// version up to rv and a later time, if the lane was first recorded after a restore of the cluster from a backup. After
// a step that cannot be applied, the lane has no further steps.
func (r *recording) playTo(rv uint64, now time.Time, log *zap.Logger) {
	for s := r.steps.peek(); s != nil && s.rv <= rv; s = r.steps.peek() {
		if s.kind == stepList && s.at.After(now) {
			break
		}
		if err := r.apply(s); err != nil {
			r.steps.fail(err)
		} else {
			r.note(s)
		}
		r.steps.take()
	}
	if err := r.steps.failure; err != nil && !r.steps.reported {
		r.steps.reported = true
		log.Warn("Cannot read the journal of a lane to its end", zap.String("lane", r.name), zap.Error(err))
	}
}

func (r *recording) note(s *step) { r.last = &step{rv: s.rv, at: s.at} }

// isLost reports whether the journal lacks the lane at a version and a time. If a list or damage follows the last step,
// the lane is lost as soon as rv is newer than that step. The lane is also lost if that step is older than skew. If
// nothing follows, the lane is lost when the last step is older than journal.Silence.
func (r *recording) isLost(rv uint64, now time.Time) bool {
	next, silent := r.steps.peek(), now.Sub(r.last.at)
	switch {
	case next != nil && next.kind != stepList:
		return false
	case next == nil && r.steps.failure == nil:
		return silent > journal.Silence
	}
	return rv > r.last.rv || silent > skew
}

func (r *recording) describeLoss() string {
	text := fmt.Sprintf("the journal does not have %s after resourceVersion %d of %s", r.resource.GVR.Resource, r.last.rv,
		r.last.at.Format(time.RFC3339))
	if next := r.steps.peek(); next != nil {
		text += fmt.Sprintf(" until %d of %s", next.rv, next.at.Format(time.RFC3339))
	}
	return text
}

func (p *player) close() {
	for _, r := range p.recordings {
		r.steps.close()
		r.store.Close()
	}
}
