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

var errUnchecked = errors.New("the journal does not match the upstream")

var errStuck = errors.New("no progress while reading and checking the journal")

var errNoVersion = errors.New("the upstream's version is unknown")

const (
	// watchGrace is how long the upstream may take to reject a watch from a version whose later events it no longer has.
	watchGrace = 100 * time.Millisecond
	// restoreWait is the maximum time without progress. The total time is not limited: many large lanes may be restored at
	// the same time, and to fill them in another way would take even longer.
	restoreWait = 2 * time.Minute
	// findWait is how long the search for a lane's segments may take.
	findWait = 10 * time.Second
	// If the journal's last record is older than trustedAge, the restored objects are compared with the upstream's. A
	// running lane also continues without a comparison after an interruption of this length.
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

// restore fills a lane from the journal of an earlier process, if the lane has no State, and opens the lane's watch
// (docs/adr/0040-the-journal.md). It returns nil if the journal cannot be used. The lane is then unchanged and has to
// be filled in another way. The journal is not used while another process writes it.
func (r *restorer) restore(ctx context.Context, e *epoch) (open *stream, err error) {
	if _, err := r.lane.Cache.State(); err == nil || r.recorder == nil || r.recorder.journal.Load() == nil ||
		!r.lane.isRecorded() || r.tries.has(r.lane.key()) {
		return nil, nil
	}
	release := r.recorder.journal.Load().Hold(r.lane.journalName())
	defer func() {
		if open == nil {
			release() // without this call, Hold ends when the recorder begins a segment
		}
	}()
	run, err := r.find(ctx)
	if err == nil && len(run) == 0 {
		r.tries.note(r.lane.key())
		return nil, nil
	}
	if err == nil {
		open, err = r.restoreFrom(ctx, e, run)
	}
	switch {
	case err == nil:
		return open, nil
	case ctx.Err() != nil:
		return nil, err
	default:
		r.lane.log.Warn("Journal of the lane not used", zap.Error(err))
	}
	return nil, nil
}

type found struct {
	segments []journal.Segment
	err      error
}

// find returns the segments that contain the lane's content and its history. If the disk hangs, find returns after
// findWait, and the search is not repeated in this process. The goroutine of find then ends when the disk responds.
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

// restoreFrom restores the lane from segments. It stops if there is no progress for restoreWait.
func (r *restorer) restoreFrom(ctx context.Context, e *epoch, run []journal.Segment) (*stream, error) {
	began := time.Now()
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
		r.lane.log.Info("Lane restored from the journal", zap.Int("segments", len(run)),
			zap.Uint64("resourceVersion", uint64(content.rv)), zap.Duration("took", time.Since(began)))
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

// checked reads segments and compares them with the upstream. It calls moved whenever it makes progress. Even with an
// error, it may return the stream and the content that it opened, and the caller has to close them.
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

// agrees returns an error unless a segment is of this lane, of the upstream's cluster, and of the upstream's version.
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

func describe(id *journal.Identity) string {
	return fmt.Sprintf("%s in %s as %q, cluster %s, kube-apiserver %s, definition %s.%d", id.Resource, id.Encoding,
		id.Accept, id.Cluster, id.Upstream, id.Definition, id.Generation)
}
