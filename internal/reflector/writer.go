package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
)

// writer is the only writer of one lane. In each epoch, it fills the lane and then reads the upstream's watch. Only the
// goroutine of run changes the fields below. The objects in them do not refer to the writer.
type writer struct {
	lane      *lane
	checker   *fresh.Checker
	fills     *fills
	check     *upstreamCheck
	refusal   *refusal
	learner   *learner
	restorer  *restorer
	lister    *lister
	publisher *publisher
	watcher   *watcher
	present   *epoch // present epoch; nil before the first one
}

func (l *Lanes) newWriter(lane *lane, checker *fresh.Checker) *writer {
	w := &writer{
		lane: lane, checker: checker, fills: l.fills, refusal: &refusal{lane: lane},
		check:   &upstreamCheck{versions: l.versions, clusters: l.clusters, log: lane.log, replaced: newReplacement()},
		learner: &learner{lane: lane, definitions: l.definitions},
	}
	quota := &quota{
		lane: lane, memory: l.memory, admission: l.admission,
		limit: l.config.Resources[lane.Resource.GVR.GroupResource()].Memory,
	}
	w.publisher = &publisher{
		lane: lane, checker: checker, check: w.check,
		past: past{replays: l.config.ReplayLostWindows, otherPasts: &l.otherPasts},
	}
	w.lister = &lister{
		lane: lane, quota: quota, pageBytes: cmp.Or(l.config.PageBytes, heldBytes),
		pagedFrom: cmp.Or(l.config.PagedFrom, pagedFrom), streaming: true, peers: l.peers, check: w.check, learner: w.learner,
	}
	w.restorer = &restorer{
		lane: lane, recorder: l.recorder, tries: l.tries, quota: quota, check: w.check, learner: w.learner,
		publisher: w.publisher,
		window:    cmp.Or(l.config.of(lane.Resource.GVR.GroupResource()).Window, cache.DefaultHistoryWindow),
	}
	w.watcher = &watcher{lane: lane, checker: checker, check: w.check, learner: w.learner, refusal: w.refusal}
	return w
}

// run fills the lane and keeps it up to date until the context ends or an error ends the lane. Such errors are, for
// example, a permanent refusal of the upstream or a changed definition. Then run closes the lane: watches end, and
// requests are forwarded or refused.
func (w *writer) run(ctx context.Context) {
	defer w.lane.Cache.Close()
	defer w.checker.Interrupted()
	pause := newBackoff(w.lane.client.Silent)
	for ctx.Err() == nil {
		err := w.refusal.judge(ctx, w.runEpoch(ctx, pause), pause)
		if ctx.Err() != nil {
			return
		}
		w.lane.receivesNothing(time.Now())
		if errors.Is(err, errEnded) {
			w.lane.log.Warn(endMessage(err), zap.Error(err))
			w.lane.fail(&Failure{Err: err, When: time.Now(), Refused: true})
			return
		}
		w.checker.Interrupted()
		if errors.Is(err, errContradicted) {
			w.lane.metrics.Contradicted(w.lane.Resource.GVR.Group, w.lane.Resource.GVR.Resource)
		}
		if endsEpoch(err) {
			w.distrust(err)
			w.lane.metrics.Relisted(w.lane.Resource.GVR.Group, w.lane.Resource.GVR.Resource)
			w.lane.log.Info("Relisting", zap.Error(err))
		} else {
			w.lane.log.Warn("Failed to fill the lane; will retry", zap.Error(err))
			w.lane.fail(&Failure{Err: err, When: time.Now()})
		}
		pause.sleep(ctx, retryAfter(err))
	}
}

// distrust records why the lane is listed again. If the lane's objects possibly differ from the upstream's, the lane
// does not answer before the new list. After a lost window or an upgrade of kube-apiserver, a freshness check may still
// confirm the lane.
func (w *writer) distrust(reason error) {
	w.publisher.distrust(reason)
	switch {
	case errors.Is(reason, errRestored):
		w.checker.Distrust(fresh.ErrSetBack)
	case errors.Is(reason, errElsewhere), errors.Is(reason, errAudited):
		w.checker.Distrust(fresh.ErrContradicted)
	}
}

func endMessage(err error) string {
	if errors.Is(err, ErrNoMemory) {
		return "Lane ended for lack of memory; forwarding cheap requests and refusing others"
	}
	return "Lane ended; forwarding or refusing requests until the lane is started again"
}

// runEpoch fills the lane and keeps it up to date until the epoch ends. Then it calls pause.noteUptime with the time
// for which the lane was synced.
func (w *writer) runEpoch(ctx context.Context, pause *backoff) error {
	select {
	case reason := <-w.lane.wrong:
		w.distrust(reason)
		w.lane.log.Debug("Relist requested", zap.Error(reason))
	default:
	}
	w.lane.synced.Store(nil)
	listed := newOrigin()
	w.lane.origin.Store(listed)
	version := w.check.recentVersion(ctx)
	// The list may be at the version that learn reads. Until the list is visible, freshness checks therefore do not raise
	// the visible version (cache.Lane.Vouch). Otherwise the list could be older than the visible State, as if the upstream
	// had been restored.
	endExpect := w.lane.Cache.Expect()
	e, err := w.learner.learn(ctx)
	if err != nil {
		endExpect()
		return fmt.Errorf("discover the resource: %w", err)
	}
	w.present = e
	w.publisher.begins()
	began := time.Now()
	w.lane.fill.begin()
	stopLog := w.lane.logProgress(ctx)
	open, err := w.sync(ctx, version)
	stopLog()
	w.lane.fill.end()
	endExpect()
	if err != nil {
		return fmt.Errorf("fill the lane: %w", err)
	}
	state, err := w.lane.Cache.State()
	if err != nil {
		return err
	}
	w.fills.note(w.lane.key(), filled{objects: int64(state.Len()), took: time.Since(began)})
	w.lane.log.Info("Lane synced", zap.Int("objects", state.Len()), zap.Stringer("resourceVersion", state.RV()),
		zap.Duration("took", time.Since(began)))
	w.noteWorld()
	w.lane.synced.Store(e.listWatch)
	w.refusal.ends()
	w.lane.fail(nil)
	w.lane.receives()
	version, cluster := w.check.remember(ctx, version)
	w.lane.older.clusters.note(cluster) // first, because waiting watches use the origin as soon as it is known
	listed.is(version, cluster)
	synced := time.Now()
	defer func() { pause.noteUptime(time.Since(synced)) }()
	err = w.watcher.follow(ctx, e, open)
	if at, _ := w.lane.Cache.Position(); open == nil && isLost(err) && at == state.RV() {
		w.lister.stopPaging() // the upstream lost the events after the list's version before the last page was read
	}
	return err
}

// sync fills the lane from the journal, a peer or the upstream, and publishes the result. It returns the watch that
// continues from there, or nil if no watch is open yet. version is the upstream's version; empty if it is unknown.
func (w *writer) sync(ctx context.Context, version string) (*stream, error) {
	e := w.present
	if open, err := w.restorer.restore(ctx, e); open != nil || err != nil {
		if err == nil {
			w.lane.metrics.Filled("journal")
		}
		return open, err
	}
	source := "peer"
	l, err := w.lister.warm(ctx, e)
	if l == nil && err == nil {
		source = "upstream"
		l, err = w.lister.list(ctx, e, hasSnapshots(version))
	}
	if err != nil {
		return nil, err
	}
	if err := w.publisher.publish(ctx, e, l); err != nil {
		return nil, err
	}
	w.lane.metrics.Filled(source)
	return l.open, nil
}
