package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// writer fills one lane and is its only writer. It lists, watches, resumes the watch, and lists again after a 410.
type writer struct {
	client      *upstream.Client
	reflector   *Reflector
	metrics     Metrics
	log         *zap.Logger
	versions    *identity
	clusters    *identity
	definitions *definitions
	otherPasts  *atomic.Int64 // Lanes.otherPasts
	fills       *fills
	admission   *memoryAdmission
	memory      Memory
	peers       *peers
	snapshotDir string // directory of snapshots; empty if there is none
	tries       *tries
	pageBytes   int64 // maximum size of a page of a list, in bytes
	memoryLimit int64 // maximum size of the lane in bytes; 0 is unlimited
	looked      int64 // size of the list at the last memory check, in bytes
	streaming   bool  // whether the upstream supports streaming lists; false after a refusal
	snapshots   bool  // whether the upstream serves pages of a list from memory
	pagedFrom   int   // minimum number of objects to list by pages
	unpaged     bool  // whether the lane is filled by a streaming list because pages failed

	past              // properties of the last list
	version    string // version of the upstream during this epoch's list; empty if it is uncertain
	replaced   replacement
	discovered discovered
	shape      wire.Shape                // shape of this epoch
	asks       []wire.Ask                // ways to request the objects that the upstream has not refused
	listWatch  atomic.Pointer[listWatch] // listWatch of this epoch; progress watches read it

	synced  atomic.Pointer[listWatch] // listWatch of the visible State; nil while the lane is being listed
	origin  atomic.Pointer[origin]    // upstream of this epoch, for other goroutines
	refusal refusal

	progressWatched chan step  // steps of progress watches, to be applied by the writer
	wrong           chan error // capacity 1: reason why the lane has to be listed again
}

func newWriter(client *upstream.Client, r *Reflector, metrics Metrics, log *zap.Logger) *writer {
	w := &writer{
		client: client, reflector: r, metrics: metrics, log: log, streaming: true, pagedFrom: pagedFrom,
		progressWatched: make(chan step), wrong: make(chan error, 1),
		replaced: newReplacement(),
	}
	w.origin.Store(newOrigin())
	return w
}

// run fills the lane until the context ends, or an error ends the lane. Examples are a permanent refusal of the
// upstream and a changed definition. Then it closes the lane: watches end, and requests are forwarded.
func (w *writer) run(ctx context.Context) {
	defer w.reflector.Cache.Close()
	defer w.reflector.checker.Interrupted()
	pause := newBackoff(w.client.Silent)
	for ctx.Err() == nil {
		err := w.judge(ctx, w.epoch(ctx, pause), pause)
		if ctx.Err() != nil {
			return
		}
		w.reflector.receivesNothing(time.Now())
		if errors.Is(err, errEnded) {
			w.log.Warn(endMessage(err), zap.Error(err))
			w.reflector.fail(&Failure{Err: err, When: time.Now(), Refused: true})
			return
		}
		w.reflector.checker.Interrupted()
		if errors.Is(err, errContradicted) {
			w.metrics.Contradicted(w.reflector.Resource.GVR.Group, w.reflector.Resource.GVR.Resource)
		}
		if endsEpoch(err) {
			w.distrusted = w.distrusted || !isLost(err) && !errors.Is(err, errUncertain)
			if errors.Is(err, errRestored) {
				w.noteOtherPast()
			}
			w.metrics.Relisted(w.reflector.Resource.GVR.Group, w.reflector.Resource.GVR.Resource)
			w.log.Info("Relisting", zap.Error(err))
		} else {
			w.log.Warn("Failed to fill the lane; will retry", zap.Error(err))
			w.reflector.fail(&Failure{Err: err, When: time.Now()})
		}
		pause.sleep(ctx, retryAfter(err))
	}
}

// endMessage returns the log message for a lane that ended with an error.
func endMessage(err error) string {
	if errors.Is(err, ErrNoMemory) {
		return "Lane ended for lack of memory; forwarding cheap requests and refusing others"
	}
	return "Lane ended; forwarding requests until it is started again"
}

// epoch fills the lane and keeps it up to date until the events of the upstream are lost or filling fails. It reports
// to pause how long the epoch lasted.
func (w *writer) epoch(ctx context.Context, pause *backoff) error {
	select {
	case reason := <-w.wrong:
		w.distrusted = true
		if errors.Is(reason, errRestored) {
			w.noteOtherPast()
		}
		w.log.Debug("Relist requested", zap.Error(reason))
	default:
	}
	w.synced.Store(nil)
	listed := newOrigin()
	w.origin.Store(listed)
	version := w.versions.since(ctx, time.Now().Add(-versionAge))
	w.snapshots = hasSnapshots(version)
	// The list may have the version that learn reads. If a freshness check raised the visible version in the meantime
	// (cache.Lane.Vouch), the list would be lower. It would then look like that of a restored upstream.
	endExpect := w.reflector.Cache.Expect()
	if err := w.learn(ctx); err != nil {
		endExpect()
		return fmt.Errorf("discover the resource: %w", err)
	}
	w.known = w.otherPasts.Load()
	began := time.Now()
	w.reflector.fill.begin()
	stopLog := w.logProgress(ctx)
	open, err := w.sync(ctx)
	stopLog()
	w.reflector.fill.end()
	endExpect()
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	state, err := w.reflector.Cache.State()
	if err != nil {
		return err
	}
	w.fills.note(w.reflector.key(), filled{objects: int64(state.Len()), took: time.Since(began)})
	w.log.Info("Lane synced", zap.Int("objects", state.Len()), zap.Stringer("resourceVersion", state.RV()),
		zap.Duration("took", time.Since(began)))
	w.noteWorld()
	w.synced.Store(w.listWatch.Load())
	w.refusal = refusal{}
	w.reflector.fail(nil)
	w.reflector.receives()
	w.version = agreed(version, w.versions.since(ctx, time.Now()))
	listed.is(w.version, w.remember(ctx))
	synced := time.Now()
	defer func() { pause.noteUptime(time.Since(synced)) }()
	err = w.follow(ctx, open)
	if at, _ := w.reflector.Cache.Position(); open == nil && isLost(err) && at == state.RV() {
		w.unpaged = true // the upstream lost the events after the list's version before the last page was read
	}
	return err
}

// follow applies the steps of the stream, and resumes the watch when it ends, until the epoch ends.
func (w *writer) follow(ctx context.Context, open *stream) error {
	pause := newBackoff(w.client.Silent)
	regular := false // whether the last watch ended at its timeout
	for {
		began := time.Now()
		if open != nil {
			err := open.judge(w.apply(ctx, open))
			regular = errors.Is(err, io.EOF) && open.isOverdue()
			pause.noteUptime(time.Since(began))
			if ctx.Err() != nil || endsEpoch(err) {
				return err
			}
			if !regular {
				w.doubted = true
				w.reflector.checker.Interrupted()
			}
			w.reflector.receivesNothing(time.Now())
			w.metrics.Reconnected(w.reflector.Resource.GVR.Group, w.reflector.Resource.GVR.Resource)
			w.log.Debug("Upstream watch ended", zap.Error(err), zap.Duration("lived", time.Since(began)))
			// A watch that ended early, or with an error, indicates a problem of the upstream. So the next attempt is delayed.
			if time.Since(began) < settled || !errors.Is(err, io.EOF) {
				w.note(err)
				pause.sleep(ctx, retryAfter(err))
			}
		}
		var err error
		if open, err = w.resume(ctx, regular); err == nil {
			w.refusal = refusal{}
			continue
		}
		regular, w.doubted = false, true
		if err = w.judge(ctx, err, pause); ctx.Err() != nil || endsEpoch(err) || errors.Is(err, errEnded) {
			return err
		}
		w.reflector.checker.Interrupted()
		w.note(err)
		pause.sleep(ctx, retryAfter(err))
	}
}

// note logs why a watch failed. A clean end is not logged.
func (w *writer) note(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	w.log.Info("Upstream watch failed; will resume", zap.Error(err))
}

// resume opens a watch from the lane's version. Unless the last watch ended at its timeout, it reads the upstream's
// version and cluster again.
//
// The lane may lack deletions at its own version. When a lease ends, etcd deletes up to 1,000 events at one version,
// and a stream may break off between them (semantics 4.4). In that case the watch begins at a lower version. The lane
// drops duplicates.
func (w *writer) resume(ctx context.Context, regular bool) (*stream, error) {
	latest, err := w.reflector.Cache.Latest()
	if err != nil {
		return nil, err
	}
	if err := w.verify(ctx, latest.RV()); err != nil {
		return nil, err
	}
	from, err := w.reflector.Cache.Complete()
	if err != nil {
		return nil, err
	}
	// Five to ten minutes, as in client-go's reflectors.
	open, err := w.listWatch.Load().watch(ctx, watchQuery(max(from, 1)), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	open.resumed = w.reflector.Resource.ReadFromEtcd()
	opened := time.Now()
	fresh := opened
	if regular {
		fresh = fresh.Add(-versionAge)
	}
	err = w.sameCluster(ctx, opened)
	if err == nil {
		err = w.compare(ctx, fresh)
	}
	if err != nil {
		open.close()
		return nil, err
	}
	return open, nil
}
