package reflector

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/fresh"
)

// settled is how long a watch without events must be open before the upstream counts as reachable.
const settled = time.Second

// watcher keeps a filled lane up to date by the upstream's watch, until the lane has to be listed again.
type watcher struct {
	lane    *lane
	checker *fresh.Checker
	check   *upstreamCheck
	learner *learner
	refusal *refusal
}

// follow applies the steps of the stream, and resumes the watch when it ends, until the epoch ends. The epoch also ends
// if a freshness check contradicts the lane while no watch is open, because the upstream may refuse watches for long.
func (w *watcher) follow(ctx context.Context, e *epoch, open *stream) error {
	pause := newBackoff(w.lane.client.Silent)
	regular := false // whether the last watch ended at its timeout
	for {
		began := time.Now()
		if open != nil {
			err := open.judge(w.apply(ctx, e, open))
			regular = errors.Is(err, io.EOF) && open.isOverdue()
			pause.noteUptime(time.Since(began))
			if ctx.Err() != nil || endsEpoch(err) {
				return err
			}
			if !regular {
				w.check.doubt()
				w.checker.Interrupted()
			}
			w.lane.receivesNothing(time.Now())
			w.lane.metrics.Reconnected(w.lane.Resource.GVR.Group, w.lane.Resource.GVR.Resource)
			w.lane.log.Debug("Upstream watch ended", zap.Error(err), zap.Duration("lived", time.Since(began)))
			// An early end or an error indicates a problem of the upstream, so the next attempt is delayed.
			if time.Since(began) < settled || !errors.Is(err, io.EOF) {
				w.note(err)
				pause.sleepUntil(ctx, retryAfter(err), w.checker.Doubted())
			}
		}
		err := w.finding()
		if err != nil {
			return err
		}
		if open, err = w.resume(ctx, e, regular); err == nil {
			w.refusal.ends()
			continue
		}
		regular = false
		w.check.doubt()
		if err = w.refusal.judge(ctx, err, pause); ctx.Err() != nil || endsEpoch(err) || errors.Is(err, errEnded) {
			return err
		}
		w.checker.Interrupted()
		w.note(err)
		pause.sleepUntil(ctx, retryAfter(err), w.checker.Doubted())
	}
}

// finding returns why the lane is wrong, or nil. While no watch is open, no other code reads the lane's findings.
func (w *watcher) finding() error {
	select {
	case err := <-w.lane.wrong:
		return err
	default:
		return contradiction(w.checker)
	}
}

func (w *watcher) note(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	w.lane.log.Info("Upstream watch failed; will resume", zap.Error(err))
}

// resume opens a watch from the version up to which the lane is complete. Unless the last watch ended at its timeout,
// resume reads the upstream's version and cluster again.
//
// The lane may lack deletions at its own version. When a lease ends, etcd deletes up to 1,000 Events at one version,
// and a stream may break off between them (semantics 4.4). The watch then begins at a lower version, and the lane drops
// duplicates.
func (w *watcher) resume(ctx context.Context, e *epoch, regular bool) (*stream, error) {
	latest, err := w.lane.Cache.Latest()
	if err != nil {
		return nil, err
	}
	if err := w.learner.verify(ctx, latest.RV()); err != nil {
		return nil, err
	}
	from, err := w.lane.Cache.Complete()
	if err != nil {
		return nil, err
	}
	// Five to ten minutes, as in client-go's reflectors.
	open, err := e.watch(ctx, watchQuery(max(from, 1)), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	open.resumed = w.lane.Resource.ReadFromEtcd()
	opened := time.Now()
	since := opened
	if regular {
		since = since.Add(-versionAge)
	}
	err = w.check.sameCluster(ctx, opened)
	if err == nil {
		err = w.check.compare(ctx, since)
	}
	if err != nil {
		open.close()
		return nil, err
	}
	return open, nil
}

// apply writes the steps of a stream, and of progress watches, into the lane until the stream ends. Another goroutine
// reads the stream and writes its steps. It has ended when apply returns. With one goroutine for reads and one for
// writes, the two would overlap, but handing over a step takes a tenth of the processor time of an event.
func (w *watcher) apply(ctx context.Context, e *epoch, s *stream) error {
	in, ended := newStepWriter(w, e), make(chan error, 1)
	go func() { ended <- in.writeAll(s) }()
	over, err := w.await(ctx, in, ended)
	s.close()
	if over {
		return err
	}
	// The last step before the stream was closed may have failed with an error that ends the epoch. Any other error only
	// says that the stream was closed.
	if late := <-ended; endsEpoch(late) && !endsEpoch(err) {
		return late
	}
	return err
}

// await writes the steps of progress watches while the stream is read. When the reader of the stream has ended, await
// returns its error, and over is true. If the stream has to end for another reason, await returns this reason.
func (w *watcher) await(ctx context.Context, in *stepWriter, ended <-chan error) (over bool, err error) {
	quiet := time.NewTimer(settled)
	defer quiet.Stop()
	look := time.NewTicker(silenceEvery)
	defer look.Stop()
	doubted := w.checker.Doubted()
	for {
		select {
		case st := <-w.lane.progressWatched:
			err = in.write(st)
		case err = <-ended:
			return true, err
		case err = <-w.lane.wrong:
		case <-doubted:
			err = contradiction(w.checker)
		case <-quiet.C:
			w.lane.receives()
		case <-look.C:
			err = in.checkSilence()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return false, err
		}
	}
}
