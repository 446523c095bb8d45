package reflector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/journal"
)

const (
	// openWait is how long the start of the process waits until the journal is open. Lanes that start before this are not
	// restored from it.
	openWait = 5 * time.Second
	// finishWait is how long the end of the process waits for the recorder. lastWait is how long the recorder may write
	// the last records of all lanes; the rest of finishWait is for closing the files.
	finishWait = 10 * time.Second
	lastWait   = finishWait - time.Second
)

// journalFiles are functions of internal/journal that a hanging disk delays. Tests replace them.
type journalFiles struct {
	open     func(dir string) (*journal.Journal, error)
	segments func(dir, lane string) ([]journal.Segment, error)
}

// open opens the journal. If this fails, for example because another process writes the journal, later calls try again.
// Successive attempts with the same error are logged and counted once.
func (r *recorder) open() bool {
	if r.journal.Load() != nil {
		return true
	}
	opened, err := r.files.open(r.config.Dir)
	if err != nil {
		if refused := err.Error(); refused != r.refused {
			r.refused = refused
			r.log.Error("Cannot open the journal; running without it, and will retry", zap.String("directory", r.config.Dir), zap.Error(err))
			r.metrics.JournalFailed()
		}
		return false
	}
	if r.refused != "" {
		r.log.Info("Journal opened after failed attempts", zap.String("directory", r.config.Dir))
	}
	r.written.Store(time.Now().UnixNano())
	r.journal.Store(opened)
	return true
}

func (r *recorder) awaitOpen() {
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-r.tried:
	case <-timer.C:
		r.log.Warn("The disk of the journal does not respond; starting without it")
	}
}

// run writes the journal until the context ends. It then waits for finish, writes the last events, and closes the
// journal.
func (r *recorder) run(ctx context.Context) {
	defer close(r.ended)
	r.open()
	close(r.tried)
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			r.write(ctx, time.Now())
		case <-ctx.Done():
		}
	}
	r.end(context.WithoutCancel(ctx), <-r.last)
}

// write visits the running lanes, unless it pauses because the disk was full.
func (r *recorder) write(ctx context.Context, now time.Time) {
	if r.waits(now) || !r.open() {
		return
	}
	lanes := r.lanes.All()
	if ctx.Err() != nil {
		return // stopAll may have removed the lanes and passed them to finish; a visit without them would end all recordings
	}
	r.visit(ctx, now, lanes, false)
}

func (r *recorder) end(ctx context.Context, lanes []*Reflector) {
	opened := r.journal.Load()
	if opened == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastWait)
	defer cancel()
	r.visit(ctx, time.Now(), lanes, true)
	if ctx.Err() != nil {
		r.log.Warn("The last events of the journal are missing: writing them took too long", zap.Duration("limit", lastWait))
	}
	var err error
	for _, recording := range r.all {
		err = errors.Join(err, recording.writer.Close())
	}
	clear(r.all)
	if err = errors.Join(err, opened.Close()); err != nil {
		r.log.Warn("Failed to close the journal", zap.Error(err))
	}
}

// finish makes the goroutine of run write the last events of lanes, and waits until this goroutine has closed the
// journal. If the disk hangs, finish returns after finishWait. Called once, after the context of run has ended.
func (r *recorder) finish(lanes []*Reflector) {
	r.last <- lanes
	timer := time.NewTimer(finishWait)
	defer timer.Stop()
	select {
	case <-r.ended:
	case <-timer.C:
		r.log.Warn("The disk of the journal does not respond; the last events may be missing")
	}
}

func (l *Lanes) finishJournal(all map[laneKey]*Reflector) {
	if l.recorder != nil {
		l.recorder.finish(slices.Collect(maps.Values(all)))
	}
}
