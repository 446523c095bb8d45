package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
)

// past describes the list from which the writer filled the lane, and reasons why it may no longer match the upstream.
type past struct {
	replays    bool       // whether differences may be replayed
	distrusted bool       // whether the last epoch ended for another reason than a lost window
	cluster    string     // UID of the upstream's cluster, as last read; empty if it is unreadable
	doubted    bool       // whether a watch broke off since the cluster was last confirmed
	pasts      int64      // value of Lanes.otherPasts for the current list
	known      int64      // value of Lanes.otherPasts for the list in progress, including this lane's findings
	listed     *listWatch // listWatch of the last list
}

// remember stores the properties of a list, for comparison with the next list. It returns the UID of the lane's
// cluster, or an empty string if the upstream does not provide it.
func (w *writer) remember(ctx context.Context, e *epoch) string {
	w.listed = e.listWatch
	w.pasts = w.known
	uid := w.clusters.since(ctx, time.Now().Add(-versionAge))
	if w.doubted = uid == ""; !w.doubted {
		w.cluster = uid // a failed read keeps the last UID
	}
	return uid
}

// noteOtherPast records, for all lanes, that the upstream's history contradicts the history that the lanes have served.
// A single object of one lane is sufficient evidence.
func (w *writer) noteOtherPast() {
	w.otherPasts.Add(1)
	w.known++
}

// Outcomes of a lost window.
const (
	replayed            = "replayed"
	replayOff           = "off"            // by configuration
	otherPast           = "contradicted"   // the upstream's history contradicts the lane, or may contradict it
	otherVersion        = "version"        // the upstream has another version, or an unknown one
	otherCluster        = "cluster"        // the upstream is another cluster
	otherRepresentation = "representation" // the upstream represents objects differently, or prints other columns
	setBack             = "set-back"       // the upstream is behind the lane
	manyChanges         = "many-changes"   // more has changed than the history can store
)

// replay continues the lane's epoch with a list at rv. The lane's watches receive the differences between its last
// State and the list (docs/adr/0021-gaps-are-bridged.md). It returns false if a new epoch has to begin, because there
// is no last State or the differences cannot be replayed.
func (w *writer) replay(ctx context.Context, e *epoch, rv cache.RV, list []*cache.Object) bool {
	last, err := w.lane.Cache.State()
	if err != nil {
		return false
	}
	known, err := w.lane.Cache.Known()
	if err != nil {
		return false
	}
	outcome := w.mayReplay(ctx, e, last)
	if outcome == replayed {
		if outcome = outcomeOf(w.lane.Cache.Replay(rv, list)); outcome == otherPast || outcome == setBack {
			w.noteOtherPast()
		}
	}
	gvr := w.lane.Resource.GVR
	w.lane.metrics.LostWindow(gvr.Group, gvr.Resource, outcome)
	w.lane.log.Info("Upstream lost the events after the lane's version", zap.String("outcome", outcome),
		zap.Stringer("from", known[0]), zap.Stringers("confirmed", known[1:]), zap.Stringer("to", rv))
	if outcome == replayed {
		e.shape = last.Shape() // the epoch keeps its shape, whose columns are the same
	}
	return outcome == replayed
}

// mayReplay returns "replayed" if the new list can be compared with the last State. Otherwise it returns the reason as
// an outcome. Objects are compared by their bytes, so both must have the same representation.
func (w *writer) mayReplay(ctx context.Context, e *epoch, last *cache.State) string {
	switch now := time.Now(); {
	case !w.replays:
		return replayOff
	case w.distrusted || w.pasts != w.otherPasts.Load():
		return otherPast
	case !w.mayBeVersion(ctx, now):
		return otherVersion
	case w.isOtherCluster(w.clusters.since(ctx, now)):
		return otherCluster
	case w.listed == nil || w.listed.ask.Accept != e.ask.Accept || last.Shape().Reprinted(e.columns),
		e.columns != nil && last.Shape().Prints() != e.shape.Prints():
		return otherRepresentation
	}
	return replayed
}

// mayBeVersion reports whether the upstream may have the version from which the last list was read. If either version
// is unknown, the comparison of bytes decides.
func (w *writer) mayBeVersion(ctx context.Context, moment time.Time) bool {
	now := w.versions.since(ctx, moment)
	return w.version == "" || now == "" || now == w.version
}

// sameCluster returns an error if the upstream is another cluster than the lane's. After a watch broke off, the address
// may lead to another cluster, such as a standby, whose resourceVersions are unrelated. The UID has to be read after
// the new watch was opened, because the address may change until then. Lanes share these requests. If the upstream does
// not provide the UID, the lane continues, and sameCluster checks again after the next watch was opened.
func (w *writer) sameCluster(ctx context.Context, opened time.Time) error {
	if !w.doubted {
		return nil
	}
	uid := w.clusters.since(ctx, opened)
	switch {
	case uid == "":
		return nil
	case w.isOtherCluster(uid):
		return fmt.Errorf("%w: %s instead of %s", errElsewhere, uid, w.cluster)
	}
	w.cluster, w.doubted = uid, false
	return nil
}

// isOtherCluster reports whether the upstream is another cluster than before, or no longer provides its UID.
func (w *writer) isOtherCluster(uid string) bool { return w.cluster != "" && uid != w.cluster }

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return replayed
	case errors.Is(err, cache.ErrSetBack):
		return setBack
	case errors.Is(err, cache.ErrManyChanges):
		return manyChanges
	default:
		return otherPast
	}
}
