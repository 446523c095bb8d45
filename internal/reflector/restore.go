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

// errUnchecked says that a snapshot is not what the upstream has, or cannot be shown to be.
var errUnchecked = errors.New("the snapshot is not proven")

// errStuck says that nothing of a snapshot was read or proven for restoreWait.
var errStuck = errors.New("to read and prove the snapshot does not get on")

// errNoVersion says that the upstream does not say now of which version it is.
var errNoVersion = errors.New("the version of the upstream is not known")

const (
	// watchGrace is how long a watch from a version that the upstream has forgotten may take to say so.
	watchGrace = 100 * time.Millisecond
	// restoreWait is how long reading and proving a snapshot may stand still; then the lane is filled in another way. All
	// of it may take longer, as where many large lanes go on at once: to fill those would take them longer still.
	restoreWait = 2 * time.Minute
)

// restore fills a lane that has never shown anything from the snapshot that the process before has left, and opens its
// watch (docs/adr/0024-lanes-leave-snapshots.md). nil: there was none, or it is not proven, and the lane has to be
// filled in another way; it is then as if there had been none.
func (w *writer) restore(ctx context.Context) (*stream, error) {
	r := w.reflector
	if _, err := r.Cache.State(); err == nil || w.snapshotDir == "" || r.Resource.ReadFromEtcd() || isSecret(r.Resource) {
		return nil, nil
	}
	if w.tries.has(r.key()) {
		return nil, nil
	}
	path := filepath.Join(w.snapshotDir, r.snapshotName())
	open, err := w.restoreFrom(ctx, path)
	switch {
	case err == nil:
		w.log.Info("the lane goes on from a snapshot", zap.String("file", path))
		return open, nil
	case errors.Is(err, fs.ErrNotExist):
	case ctx.Err() != nil:
		return nil, err
	default:
		w.log.Warn("a snapshot is left aside", zap.String("file", path), zap.Error(err))
	}
	return nil, nil
}

// restoreFrom takes a file, or leaves it when that does not get on.
func (w *writer) restoreFrom(ctx context.Context, path string) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(restoreWait, func() { cancel(errStuck) })
	open, content, err := w.checked(ctx, path, func() { limit.Reset(restoreWait) })
	if !limit.Stop() {
		err = errStuck
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = w.adopt(content)
	}
	if err == nil {
		end := open.cancel
		open.cancel = func() { end(); cancel(nil) }
		return open, nil
	}
	if open != nil {
		open.close()
		<-open.ahead // nobody reads it any more
	}
	if content != nil {
		content.filling.Drop()
	}
	cancel(nil)
	return nil, err
}

// proven reads a file, and compares it with what the upstream says; it calls moved each time that it has got on. It
// returns what there is of the two also when it fails.
func (w *writer) checked(ctx context.Context, path string, moved func()) (open *stream, content *recorded, err error) {
	err = w.look(ctx, path)
	if err == nil || isVerdict(err) {
		w.tries.note(w.reflector.key())
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
	if err := w.agrees(ctx, s.Header); err != nil {
		return nil, nil, err
	}
	content = newRecorded(w.listWatch.Load(), w.shape, w.reflector.Cache)
	room := func(bytes int64) error {
		moved()
		return w.admit(bytes)
	}
	if err := content.read(ctx, s, room); err != nil {
		return nil, content, fmt.Errorf("read it: %w", err)
	}
	moved()
	if err := w.verify(ctx, content.rv); err != nil {
		return nil, content, err
	}
	open, err = w.listWatch.Load().watch(ctx, watchQuery(content.rv), 300+rand.IntN(300))
	if err != nil {
		return nil, content, err
	}
	open.look()
	if err = w.checkFreshness(ctx, content, moved); err == nil {
		err = open.lasts(watchGrace)
	}
	return open, content, err
}

// agrees tells why a snapshot is not one of this lane.
func (w *writer) agrees(ctx context.Context, h snapshot.Header) error {
	uid, err := w.clusters.now(ctx)
	if err != nil {
		return fmt.Errorf("ask which cluster the upstream is: %w", err)
	}
	version := w.versions.since(ctx, time.Now().Add(-versionAge))
	if version == "" {
		return errNoVersion
	}
	want := w.listWatch.Load().header(uid, version, w.reflector.Encoding)
	want.Base, want.RV, want.Objects, want.Events, want.Taken = h.Base, h.RV, h.Objects, h.Events, h.Taken
	want.Marked = h.Marked
	if h != want {
		return fmt.Errorf("%w: it is of %+v, the lane of %+v", errUnchecked, h, want)
	}
	return nil
}

// adopt makes what was proven the lane's: what readers see of it they see at once. It fails when the lane is over.
func (w *writer) adopt(c *recorded) error {
	w.shape, w.columns = c.shape, c.columns
	w.reflector.bookmark.Store(&c.bookmark)
	w.reflector.marked.Store(c.marked)
	if err := c.past.Show(c.rv); err != nil {
		return err
	}
	w.distrusted = false
	w.reflector.checker.Replaced()
	return nil
}
