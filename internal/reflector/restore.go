package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/journal"
)

// errUnchecked is the error if the journal does not match the upstream, or cannot be compared with it.
var errUnchecked = errors.New("the journal does not match the upstream")

// errStuck is the error if reading and checking the journal made no progress for restoreWait.
var errStuck = errors.New("no progress while reading and checking the journal")

// errNoVersion is the error if the upstream does not provide its version.
var errNoVersion = errors.New("the upstream's version is unknown")

const (
	// watchGrace is how long the upstream may take to reject a watch from a version that it has forgotten.
	watchGrace = 100 * time.Millisecond
	// restoreWait is how long reading and checking the journal may make no progress. After that, the lane is filled in
	// another way. The total time is not limited: when many large lanes are restored at the same time, filling them in
	// another way would take even longer.
	restoreWait = 2 * time.Minute
	// findWait is how long the search for a lane's segments may take. It reads two blocks of each closed segment.
	findWait = 10 * time.Second
	// trustedAge is the maximum age of the journal's last record for which the objects are not compared with the
	// upstream's. After an interruption of that length, a watch is resumed without a comparison, too.
	trustedAge = 10 * time.Minute
)

// restorer fills a new lane from the journal of an earlier process.
type restorer struct {
	lane      *lane
	recorder  *recorder // nil if there is no journal
	window    time.Duration
	tries     *tries
	quota     *quota
	check     *upstreamCheck
	learner   *learner
	publisher *publisher
}

// restore fills a lane without a State from the journal of an earlier process, and opens its watch
// (docs/adr/0040-the-journal.md). It returns nil if the journal has nothing of the lane or the check failed. The lane
// is then unchanged and has to be filled in another way. The journal is not used while another process writes it.
func (r *restorer) restore(ctx context.Context, e *epoch) (open *stream, err error) {
	if _, err := r.lane.Cache.State(); err == nil || r.recorder == nil || r.recorder.journal.Load() == nil ||
		!r.lane.isRecorded() || r.tries.has(r.lane.key()) {
		return nil, nil
	}
	release := r.recorder.journal.Load().Hold(r.lane.journalName())
	defer func() {
		if open == nil {
			release() // otherwise, the hold ends when the recorder begins a segment
		}
	}()
	run, err := r.find(ctx)
	if err == nil && len(run) == 0 {
		r.tries.note(r.lane.key())
		return nil, nil
	}
	began := time.Now()
	if err == nil {
		open, err = r.restoreFrom(ctx, e, run)
	}
	switch {
	case err == nil:
		r.lane.log.Info("Lane restored from the journal", zap.Int("segments", len(run)),
			zap.Uint64("resourceVersion", run[len(run)-1].Last), zap.Duration("took", time.Since(began)))
		return open, nil
	case ctx.Err() != nil:
		return nil, err
	default:
		r.lane.log.Warn("Journal of the lane not used", zap.Error(err))
	}
	return nil, nil
}

// found is the result of a search for segments.
type found struct {
	segments []journal.Segment
	err      error
}

// find returns the segments that contain the lane's content and its history. If the disk hangs, it gives up after
// findWait, and never tries again. Its goroutine then ends when the disk responds.
func (r *restorer) find(ctx context.Context) ([]journal.Segment, error) {
	result := make(chan found, 1)
	go func() {
		all, err := r.recorder.files.segments(r.recorder.config.Dir, r.lane.journalName())
		result <- found{all, err}
	}()
	timer := time.NewTimer(findWait)
	defer timer.Stop()
	select {
	case f := <-result:
		if n := len(f.segments); f.err == nil && n > 0 {
			f.err = f.segments[n-1].Err
		}
		return journal.Run(f.segments, time.Now().Add(-r.window)), f.err
	case <-timer.C:
		r.tries.note(r.lane.key())
		return nil, errStuck
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// restoreFrom restores the lane from segments, or stops if that makes no progress.
func (r *restorer) restoreFrom(ctx context.Context, e *epoch, run []journal.Segment) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(restoreWait, func() { cancel(errStuck) })
	open, content, err := r.checked(ctx, e, run, func() { limit.Reset(restoreWait) })
	if !limit.Stop() {
		err = errStuck
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = r.publisher.adopt(e, content)
	}
	if err == nil {
		end := open.cancel
		open.cancel = func() { end(); cancel(nil) }
		return open, nil
	}
	if open != nil {
		open.close()
		<-open.ahead // waits for the end of the goroutine of look
	}
	if content != nil {
		content.filling.Drop()
	}
	cancel(nil)
	return nil, err
}

// checked reads segments and compares them with the upstream. It calls moved each time that it makes progress. Even
// after an error, it returns the stream and the content that it opened, and the caller has to close them.
func (r *restorer) checked(ctx context.Context, e *epoch, run []journal.Segment, moved func()) (open *stream,
	content *restored, err error) {
	last := &run[len(run)-1]
	err = r.look(ctx, e, last)
	if err == nil || isVerdict(err) {
		r.tries.note(r.lane.key())
	}
	if err != nil {
		return nil, nil, err
	}
	moved()
	if content, err = newRestored(e, last.Identity, r.lane.Cache, r.quota.admit); err != nil {
		return nil, nil, err
	}
	content.moved = moved
	if err := content.read(ctx, run, time.Now().Add(-r.window)); err != nil {
		return nil, content, fmt.Errorf("read the journal: %w", err)
	}
	moved()
	if err := r.learner.verify(ctx, content.rv); err != nil {
		return nil, content, err
	}
	open, err = e.watch(ctx, watchQuery(content.rv), 300+rand.IntN(300))
	if err != nil {
		return nil, content, err
	}
	open.look()
	if time.Since(content.until) > trustedAge || time.Until(content.until) > trustedAge {
		err = r.checkFreshness(ctx, content, moved)
	}
	if err == nil {
		err = open.awaitFailure(watchGrace)
	}
	return open, content, err
}

// agrees returns an error unless a segment has the objects of the lane, of the upstream's cluster and version.
func (r *restorer) agrees(ctx context.Context, e *epoch, s *journal.Segment) error {
	uid, err := r.check.clusterNow(ctx)
	if err != nil {
		return err
	}
	version := r.check.recentVersion(ctx)
	if version == "" {
		return errNoVersion
	}
	if want := e.identity(uid, version, r.lane.Encoding); !s.Same(&want) {
		return fmt.Errorf("%w: journal of %s, lane of %s", errUnchecked, describe(&s.Identity), describe(&want))
	}
	return nil
}

// describe returns the properties that must be the same in a segment and a lane, for an error.
func describe(id *journal.Identity) string {
	return fmt.Sprintf("%s in %s as %q, cluster %s, kube-apiserver %s, definition %s.%d", id.Resource, id.Encoding,
		id.Accept, id.Cluster, id.Upstream, id.Definition, id.Generation)
}
