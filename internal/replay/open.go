package replay

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/journal"
)

// Open loads the lanes of a journal at a moment. The caller has to call Close.
func Open(parent context.Context, o Options, log *zap.Logger) (*Replay, error) {
	at, err := journal.ParseMoment(o.At, time.Now())
	if err != nil {
		return nil, fmt.Errorf("--at: %w", err)
	}
	cut, err := cutOf(parent, o.Dir, at)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(parent)) // the player reads until Close
	unhook := context.AfterFunc(parent, stop)
	r, err := (&opening{options: o, cut: cut, log: log, began: time.Now()}).open(ctx, at.Time)
	interrupted := !unhook()
	if err != nil {
		stop()
		return nil, err
	}
	r.stop = stop
	if interrupted {
		r.Close()
		return nil, context.Cause(parent)
	}
	return r, nil
}

func cutOf(ctx context.Context, dir string, at journal.Moment) (journal.Cut, error) {
	cut, err := journal.CutOf(ctx, dir, at)
	if err == nil && (cut.RV == 0 || len(cut.Lanes) == 0) {
		err = fmt.Errorf("%s at %s: %w", dir, at, errNoLanes)
	}
	return cut, err
}

type opening struct {
	options   Options
	cut       journal.Cut
	log       *zap.Logger
	began     time.Time
	documents *documents
	clock     atomic.Pointer[clock] // clock of the ages in Tables
	served    *served
}

// open loads the lanes. If at is zero, open uses the time of the last record in the cut.
func (p *opening) open(ctx context.Context, at time.Time) (*Replay, error) {
	all, err := p.load(ctx, at)
	if err != nil {
		return nil, err
	}
	rv, last := newest(all)
	if rv < p.cut.RV && !slices.ContainsFunc(all, (*loaded).goesOn) {
		p.log.Warn("The journal ends before --at", zap.Uint64("resourceVersion", rv), zap.Time("time", last))
		p.cut.RV = rv
	}
	if at.IsZero() {
		at = last
		err = p.documents.read(ctx, at)
	}
	p.clock.Store(&clock{began: time.Now(), from: at, speed: p.options.speed()})
	r := &Replay{documents: p.documents, log: p.log, network: newMemoryNet(), lanes: lanes{}, player: &player{
		clock: p.clock.Load(), writes: p.served.writes, version: p.cut.RV, log: p.log,
	}}
	for _, one := range all {
		one.show()
		r.lanes[laneKey{one.resource.GVR, one.encoding.Name()}] = one.lane
		r.player.recordings = append(r.player.recordings, one.recording)
	}
	r.player.settle(at)
	if err == nil {
		err = r.assemble()
	}
	if err != nil {
		r.player.close()
		return nil, err
	}
	p.logOpened(r)
	return r, nil
}

func (p *opening) load(ctx context.Context, at time.Time) (all []*loaded, err error) {
	later, err := readDocuments(ctx, p.options.Dir, p.began)
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		at = p.began
	}
	if p.documents, err = readDocuments(ctx, p.options.Dir, at); err != nil {
		return nil, err
	}
	p.served, err = newServed(ctx, p.documents, later, func() time.Time { return p.clock.Load().now() })
	if err != nil {
		return nil, err
	}
	l := &loader{dir: p.options.Dir, cut: p.cut, served: p.served, log: p.log}
	return l.load(ctx, runtime.GOMAXPROCS(0))
}

func (p *opening) logOpened(r *Replay) {
	p.log.Info("Journal loaded", zap.Time("time", r.player.clock.from), zap.Uint64("resourceVersion", p.cut.RV),
		zap.Int("lanes", len(r.lanes)), zap.Duration("took", time.Since(p.began)))
	for _, one := range r.player.recordings {
		if one.lost {
			p.log.Warn("The journal may lack events of this lane at the moment of --at", zap.String("lane", one.name),
				zap.String("problem", one.describeLoss()))
		}
	}
}
