package reflector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/snapshot"
)

// errUnchecked is the error if a snapshot does not match the upstream, or cannot be compared with it.
var errUnchecked = errors.New("the snapshot does not match the upstream")

// errStuck is the error if reading and checking a snapshot made no progress for restoreWait.
var errStuck = errors.New("no progress while reading and checking the snapshot")

// errNoVersion is the error if the upstream does not provide its version.
var errNoVersion = errors.New("the upstream's version is unknown")

const (
	// watchGrace is how long the upstream may take to reject a watch from a version that it has forgotten.
	watchGrace = 100 * time.Millisecond
	// restoreWait is how long reading and checking a snapshot may make no progress. After that, the lane is filled in
	// another way. The total time is not limited: when many large lanes are restored at the same time, filling them in
	// another way would take even longer.
	restoreWait = 2 * time.Minute
)

// restorer fills a new lane from the snapshot of an earlier process.
type restorer struct {
	lane      *lane
	dir       string // directory of snapshots; empty if there is none
	tries     *tries
	quota     *quota
	check     *upstreamCheck
	learner   *learner
	publisher *publisher
}

// restore fills a lane without a State from the snapshot of an earlier process, and opens its watch
// (docs/adr/0024-lanes-leave-snapshots.md). It returns nil if there is no snapshot or the check failed. The lane is
// then unchanged and has to be filled in another way.
func (r *restorer) restore(ctx context.Context, e *epoch) (*stream, error) {
	resource := r.lane.Resource
	if _, err := r.lane.Cache.State(); err == nil || r.dir == "" || resource.ReadFromEtcd() || isSecret(resource) ||
		r.tries.has(r.lane.key()) {
		return nil, nil
	}
	path := filepath.Join(r.dir, r.lane.snapshotName())
	open, err := r.restoreFrom(ctx, e, path)
	switch {
	case err == nil:
		r.lane.log.Info("Lane restored from snapshot", zap.String("file", path))
		return open, nil
	case errors.Is(err, fs.ErrNotExist):
	case ctx.Err() != nil:
		return nil, err
	default:
		r.lane.log.Warn("Snapshot not used", zap.String("file", path), zap.Error(err))
	}
	return nil, nil
}

// restoreFrom restores the lane from a file, or stops if that makes no progress.
func (r *restorer) restoreFrom(ctx context.Context, e *epoch, path string) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(restoreWait, func() { cancel(errStuck) })
	open, content, err := r.checked(ctx, e, path, func() { limit.Reset(restoreWait) })
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

// checked reads a file and compares it with the upstream. It calls moved each time that it makes progress. Even after
// an error, it returns the stream and the content that it opened, and the caller has to close them.
func (r *restorer) checked(ctx context.Context, e *epoch, path string, moved func()) (open *stream, content *recorded,
	err error) {
	err = r.look(ctx, e, path)
	if err == nil || isVerdict(err) {
		r.tries.note(r.lane.key())
	}
	if err != nil {
		return nil, nil, err
	}
	moved()
	s, err := snapshot.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	moved()
	if err := r.agrees(ctx, e, s.Header); err != nil {
		return nil, nil, err
	}
	content = newRecorded(e.listWatch, e.shape, r.lane.Cache)
	admit := func(bytes int64) error {
		moved()
		return r.quota.admit(bytes)
	}
	if err := content.read(ctx, s, admit); err != nil {
		return nil, content, fmt.Errorf("read snapshot: %w", err)
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
	if err = r.checkFreshness(ctx, content, moved); err == nil {
		err = open.awaitFailure(watchGrace)
	}
	return open, content, err
}

// agrees returns an error unless a snapshot's header matches the lane.
func (r *restorer) agrees(ctx context.Context, e *epoch, h snapshot.Header) error {
	uid, err := r.check.clusterNow(ctx)
	if err != nil {
		return err
	}
	version := r.check.recentVersion(ctx)
	if version == "" {
		return errNoVersion
	}
	want := e.header(uid, version, r.lane.Encoding)
	want.Base, want.RV, want.Objects, want.Events, want.Taken = h.Base, h.RV, h.Objects, h.Events, h.Taken
	want.Marked = h.Marked
	if h != want {
		return fmt.Errorf("%w: snapshot of %+v, lane of %+v", errUnchecked, h, want)
	}
	return nil
}
