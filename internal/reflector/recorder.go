package reflector

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/journal"
)

// Journal configures the journal of the lanes (docs/adr/0040-the-journal.md).
type Journal struct {
	Dir      string        // directory of the journal; empty disables it
	MaxAge   time.Duration // how long records are kept; 0 means no limit
	MaxBytes int64         // maximum size of the journal in bytes; 0 means no limit
}

func (j Journal) limits() journal.Limits { return journal.Limits{Age: j.MaxAge, Bytes: j.MaxBytes} }

// JournalStatus describes the journal of this process.
type JournalStatus struct {
	Open     bool          // whether this process writes the journal; false if another process does, or the disk fails
	Lag      time.Duration // age of the oldest unwritten event; without such an event, time since the last visit
	Segments int
	Bytes    int64
	Over     bool // whether the newest segments alone exceed Journal.MaxBytes
}

const (
	recordEvery = time.Second      // interval at which the recorder visits all lanes
	retainEvery = 10 * time.Second // interval at which segments beyond the limits are removed
	// recordWait is the maximum pause after an error. Meanwhile, the lanes' history keeps the events.
	recordWait = 30 * time.Second
)

// retry delays the next attempt after an error. The pauses grow.
type retry struct {
	pause time.Duration // after the last error; 0 after a success
	next  atomic.Int64  // when the next attempt may begin, in nanoseconds since 1970
}

func (r *retry) waits(now time.Time) bool { return now.UnixNano() < r.next.Load() }

func (r *retry) note(now time.Time, failed bool) {
	if !failed {
		r.pause = 0
		return
	}
	r.pause = min(max(2*r.pause, recordEvery), recordWait)
	r.next.Store(now.Add(r.pause).UnixNano())
}

// recorder writes the lanes' events to the journal. Every second, it visits the lanes and reads new events from their
// history. So the recorder delays neither events nor reads, and takes no memory for pending events. If the recorder is
// too slow, history drops events before they are written. The journal then has a hole, after which it begins with all
// objects again.
//
// Only the goroutine of run uses a recorder, except for atomic fields, channels, and fields that do not change.
type recorder struct {
	lanes    *Lanes
	config   Journal
	log      *zap.Logger
	metrics  Metrics
	journal  atomic.Pointer[journal.Journal] // nil until it is open
	all      map[*Reflector]*recording
	scratch  scratch
	retained time.Time // when Retain was last called
	retry              // pauses all lanes after the disk was full; after other errors, only the lane with the error pauses
	refused  string    // text of the last error of an attempt to open the journal; empty if none failed
	files    journalFiles

	tried chan struct{}     // closed after the first attempt to open the journal
	last  chan []*Reflector // capacity 1: the lanes whose last events are to be written
	ended chan struct{}     // closed when the goroutine has ended

	written atomic.Int64 // time before which all events were written, in nanoseconds since 1970
	kept    atomic.Pointer[journal.Kept]
}

// newRecorder returns the recorder of the lanes, or nil if there is no journal.
func newRecorder(l *Lanes) *recorder {
	if l.config.Journal.Dir == "" {
		return nil
	}
	r := &recorder{
		lanes: l, config: l.config.Journal, log: l.log, metrics: l.metrics, all: map[*Reflector]*recording{},
		files: journalFiles{journal.Open, journal.Segments},
		tried: make(chan struct{}), last: make(chan []*Reflector, 1), ended: make(chan struct{}),
	}
	r.kept.Store(&journal.Kept{})
	return r
}

// visit writes the events of all lanes, and ends the recordings of lanes that no longer run. The last visit also writes
// events whose objects are not packed yet.
func (r *recorder) visit(ctx context.Context, now time.Time, lanes []*Reflector, last bool) {
	err, failed := r.retain(now), 0
	for lane := range r.all {
		if !slices.Contains(lanes, lane) { // first, because a new lane may continue the directory of an ended one
			err = errors.Join(err, r.leave(ctx, now, lane))
		}
	}
	for _, lane := range lanes {
		recording := r.all[lane]
		if recording == nil {
			recording = r.begin(now, lane)
		}
		hole, failure := recording.visit(ctx, now, last)
		r.note(lane, hole)
		if failure != nil {
			failed++
			err = errors.Join(err, failure)
		}
	}
	r.judge(ctx, now, failed, err)
}

func (r *recorder) leave(ctx context.Context, now time.Time, lane *Reflector) error {
	recording := r.all[lane]
	hole, err := recording.finish(ctx, now)
	if ctx.Err() != nil {
		return err // the last visit continues
	}
	r.note(lane, hole)
	delete(r.all, lane)
	return errors.Join(err, recording.writer.Close())
}

func (r *recorder) note(lane *Reflector, hole string) {
	if hole != "" {
		r.metrics.JournalHole(hole)
		lane.log.Warn("The journal lacks events of the lane", zap.String("reason", hole))
	}
}

func (r *recorder) begin(now time.Time, lane *Reflector) *recording {
	recording := &recording{
		lane: lane.lane, writer: r.journal.Load().Lane(lane.journalName()), limits: r.config.limits(), scratch: &r.scratch,
		complete: now,
	}
	r.all[lane] = recording
	return recording
}

func (r *recorder) judge(ctx context.Context, now time.Time, failed int, err error) {
	if ctx.Err() != nil {
		return
	}
	full := isFull(err)
	r.written.Store(r.complete(now).UnixNano())
	r.retry.note(now, full)
	if err != nil {
		r.metrics.JournalFailed()
		r.log.Warn("Failed to write the journal; will retry", zap.Int("lanes", failed), zap.Error(first(err)))
	}
	if full {
		r.free(now)
	}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// complete returns the time before which all events of all lanes were written.
func (r *recorder) complete(now time.Time) time.Time {
	for _, recording := range r.all {
		if recording.complete.Before(now) {
			now = recording.complete
		}
	}
	return now
}

// first returns the first of joined errors. The other errors usually have the same cause.
func first(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return first(joined.Unwrap()[0])
	}
	return err
}

// retain removes segments beyond the limits, at most once per retainEvery.
func (r *recorder) retain(now time.Time) error {
	if now.Sub(r.retained) < retainEvery && !now.Before(r.retained) {
		return nil
	}
	r.retained = now
	before := r.kept.Load()
	kept, err := r.journal.Load().Retain(now, r.config.limits())
	r.kept.Store(&kept)
	if kept.Over && !before.Over {
		r.log.Warn("The newest segments alone exceed the limit of the journal", zap.Int64("bytes", kept.Bytes),
			zap.Int64("limit", r.config.MaxBytes))
	}
	return err
}

// free removes about a tenth of the journal, because the disk is full.
func (r *recorder) free(now time.Time) {
	limits := r.config.limits()
	limits.Bytes = max(1, r.kept.Load().Bytes*9/10)
	kept, err := r.journal.Load().Retain(now, limits)
	kept.Over = false
	r.kept.Store(&kept)
	if kept.Removed > 0 || err != nil {
		r.log.Warn("The disk of the journal is full; removing old segments", zap.Int("segments", kept.Removed), zap.Error(err))
	}
}

// status returns the state of the journal. Safe for concurrent use.
func (r *recorder) status() JournalStatus {
	if r.journal.Load() == nil {
		return JournalStatus{}
	}
	kept := r.kept.Load()
	return JournalStatus{
		Open: true, Lag: time.Since(time.Unix(0, r.written.Load())), Segments: kept.Segments, Bytes: kept.Bytes,
		Over: kept.Over,
	}
}

// Journal returns the journal, or nil while this process does not write one.
func (l *Lanes) Journal() *journal.Journal {
	if l.recorder == nil {
		return nil
	}
	return l.recorder.journal.Load()
}

// JournalStatus returns the state of the journal; configured is false if Journal.Dir is empty.
func (l *Lanes) JournalStatus() (status JournalStatus, configured bool) {
	if l.recorder == nil {
		return JournalStatus{}, false
	}
	return l.recorder.status(), true
}
