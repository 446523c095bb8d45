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

// writer fills one lane: it syncs, watches, resumes, and lists again when the upstream says 410. It is the lane's only
// writer.
type writer struct {
	client      *upstream.Client
	reflector   *Reflector
	metrics     Metrics
	log         *zap.Logger
	versions    *identity
	clusters    *identity
	definitions *definitions
	met         *atomic.Int64 // by all lanes: how often the upstream had another past than was told
	fills       *fills
	admission   *memoryAdmission
	memory      Memory
	peers       *peers
	snapshotDir string // of the snapshots of lanes; empty when there are none
	tries       *tries
	pageBytes   int64 // of a list, at most
	most        int64 // bytes that the lane may take; 0 is any number
	looked      int64 // how many bytes of a list there were when it was last looked whether it fits
	streaming   bool  // the upstream knows streaming lists; learned from its refusal
	snapshots   bool  // the upstream answers pages of a list from memory
	pagedFrom   int   // how many objects are filled page by page, at least
	unpaged     bool  // the lane is filled by a streaming list all the same, because pages did not do

	past              // what the lane shows, and when it is believed
	version    string // of the upstream that this epoch was listed from; empty when that is not certain
	replaced   replacement
	discovered discovered
	shape      wire.Shape                // of this epoch, as far as it is known
	asks       []wire.Ask                // the ways to ask that were not refused in this epoch
	listWatch  atomic.Pointer[listWatch] // of this epoch; fences read it

	synced  atomic.Pointer[listWatch] // that of the State that readers see; nil while it is listed anew
	origin  atomic.Pointer[origin]    // version, for who does not write
	refusal refusal

	progressWatched chan step  // steps of a fence, written by its goroutine, applied by the writer
	wrong           chan error // holds one when a proof found that the lane has to be listed again
}

func newWriter(client *upstream.Client, r *Reflector, metrics Metrics, log *zap.Logger) *writer {
	w := &writer{
		client: client, reflector: r, metrics: metrics, log: log, streaming: true, pagedFrom: pagedFrom, progressWatched: make(chan step), wrong: make(chan error, 1),
		replaced: newReplacement(),
	}
	w.origin.Store(newOrigin())
	return w
}

// run fills the lane until the context ends, the upstream refuses the resource for good, or it is redefined. Then the
// lane is closed: its watchers end, and requests are the upstream's to answer.
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
		if errors.Is(err, errOver) {
			w.log.Warn(whatFollows(err), zap.Error(err))
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
				w.meets()
			}
			w.metrics.Relisted(w.reflector.Resource.GVR.Group, w.reflector.Resource.GVR.Resource)
			w.log.Info("the lane is listed again", zap.Error(err))
		} else {
			w.log.Warn("the lane is not being filled", zap.Error(err))
			w.reflector.fail(&Failure{Err: err, When: time.Now()})
		}
		pause.sleep(ctx, retryAfter(err))
	}
}

// whatFollows says what becomes of requests for a lane that ended with an error.
func whatFollows(err error) string {
	if errors.Is(err, ErrNoMemory) {
		return "cheap requests are passed through and others refused until there is memory for the lane"
	}
	return "requests are passed through until the lane is asked for again"
}

// epoch syncs the lane and keeps it up to date until the upstream's window is lost or the sync fails. It tells the
// pause before the next one how long that went well.
func (w *writer) epoch(ctx context.Context, pause *backoff) error {
	select {
	case why := <-w.wrong:
		w.distrusted = true
		if errors.Is(why, errRestored) {
			w.meets()
		}
		w.log.Debug("a new list is what this asks for", zap.Error(why))
	default:
	}
	w.synced.Store(nil)
	listed := newOrigin()
	w.origin.Store(listed)
	version := w.versions.since(ctx, time.Now().Add(-versionAge))
	w.snapshots = hasSnapshots(version)
	// The list may be of the version that is learned. A later one that is vouched for meanwhile would look as if the
	// upstream had been set back, to this lane and so to all.
	over := w.reflector.Cache.Expect()
	if err := w.learn(ctx); err != nil {
		over()
		return fmt.Errorf("learn what the resource looks like: %w", err)
	}
	w.known = w.met.Load()
	began := time.Now()
	w.reflector.fill.begin()
	told := w.tell(ctx)
	open, err := w.sync(ctx)
	told()
	w.reflector.fill.end()
	over()
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	state, err := w.reflector.Cache.State()
	if err != nil {
		return err
	}
	w.fills.note(w.reflector.key(), filled{objects: int64(state.Len()), took: time.Since(began)})
	w.log.Info("lane synced", zap.Int("objects", state.Len()), zap.Stringer("resourceVersion", state.RV()),
		zap.Duration("took", time.Since(began)))
	w.synced.Store(w.listWatch.Load())
	w.refusal = refusal{}
	w.reflector.fail(nil)
	w.reflector.receives()
	w.version = agreed(version, w.versions.since(ctx, time.Now()))
	listed.is(w.version, w.remember(ctx))
	synced := time.Now()
	defer func() { pause.lived(time.Since(synced)) }()
	err = w.follow(ctx, open)
	if at, _ := w.reflector.Cache.Position(); open == nil && isLost(err) && at == state.RV() {
		w.unpaged = true // by the time of the last page the upstream had forgotten what followed the first
	}
	return err
}

// follow applies the stream's steps, and when it ends resumes where the lane is, until the epoch ends.
func (w *writer) follow(ctx context.Context, open *stream) error {
	pause := newBackoff(w.client.Silent)
	regular := false // the last watch ended because its time was over
	for {
		began := time.Now()
		if open != nil {
			err := open.judge(w.apply(ctx, open))
			regular = errors.Is(err, io.EOF) && open.isOverdue()
			pause.lived(time.Since(began))
			if ctx.Err() != nil || endsEpoch(err) {
				return err
			}
			if !regular {
				w.doubted = true
				w.reflector.checker.Interrupted()
			}
			w.reflector.receivesNothing(time.Now())
			w.metrics.Reconnected(w.reflector.Resource.GVR.Group, w.reflector.Resource.GVR.Resource)
			w.log.Debug("the upstream's watch ended", zap.Error(err), zap.Duration("lived", time.Since(began)))
			// A watch that lived ends when its time is over; one that did not tells of an upstream that is not well.
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
		if err = w.judge(ctx, err, pause); ctx.Err() != nil || endsEpoch(err) || errors.Is(err, errOver) {
			return err
		}
		w.reflector.checker.Interrupted()
		w.note(err)
		pause.sleep(ctx, retryAfter(err))
	}
}

// note logs what keeps a watch from going on, other than its end.
func (w *writer) note(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	w.log.Info("the upstream's watch cannot go on yet", zap.Error(err))
}

// resume opens a watch from where the lane is. Unless the one before ended in its time, the upstream is asked anew what
// it is, and of which cluster.
//
// Where the lane is there may be more deletions: when a lease ends etcd deletes up to 1,000 events in one
// transaction, at one version, and a stream may have broken off among them (semantics 4.4). Then the watch begins
// below. What comes twice is dropped.
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
	// Five to ten minutes, as client-go's reflectors ask for.
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
