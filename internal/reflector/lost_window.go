package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
)

// past is what the writer remembers of the list that the lane shows, and of what has been said against it.
type past struct {
	replays    bool       // gaps are bridged, if they can be
	distrusted bool       // the last epoch ended with more than the loss of the upstream's window
	cluster    string     // the UID of the upstream's, when it was told last; empty when it may not be read
	doubted    bool       // the cluster was not told when the lane was listed, or a watch broke off since it was told
	pasts      int64      // how many other pasts of the upstream the lanes had met before the list was read
	known      int64      // the same of the list on its way; those that this lane meets in it come to it
	listed     *listWatch // how the list was asked for
	columns    []byte     // of the Table that the list on its way is read from; nil when it has none, or none came yet
}

// remember keeps what the next list has to agree with. It returns the UID of the cluster that the lane was listed from,
// which is empty when the upstream does not tell it.
func (w *writer) remember(ctx context.Context) string {
	w.listed = w.listWatch.Load()
	w.pasts = w.known
	uid := w.clusters.since(ctx, time.Now().Add(-versionAge))
	if w.doubted = uid == ""; !w.doubted {
		w.cluster = uid // what it was remains, where it is not told for once
	}
	return uid
}

// meets tells all lanes that the upstream has another past than was told: what one of them finds, which has an object
// that says so, is true of all.
func (w *writer) meets() {
	w.met.Add(1)
	w.known++
}

// What is counted as the outcome of a gap.
const (
	replayed            = "bridged"
	bridgingOff         = "off"          // by configuration
	otherPast           = "contradicted" // the upstream has another past than was told, or may have
	otherVersion        = "version"      // it is of another version, or does not tell
	otherCluster        = "cluster"      // it is another cluster's
	otherRepresentation = "form"         // it sends objects in another form, or prints them with other columns
	setBack             = "set-back"     // it is behind what was told
	manyChanges         = "many-changes" // more has changed than is kept for watches
)

// bridge lets the lane go on with a list at rv in its epoch, whose watches are told what has changed since the last
// State (docs/adr/0021-gaps-are-bridged.md). It returns false when a new epoch has to begin: there was none, or it
// cannot be told.
func (w *writer) replay(ctx context.Context, rv cache.RV, list []*cache.Object) bool {
	last, err := w.reflector.Cache.State()
	if err != nil {
		return false
	}
	known, err := w.reflector.Cache.Known()
	if err != nil {
		return false
	}
	outcome := w.mayReplay(ctx, last)
	if outcome == replayed {
		if outcome = outcomeOf(w.reflector.Cache.Replay(rv, list)); outcome == otherPast || outcome == setBack {
			w.meets()
		}
	}
	gvr := w.reflector.Resource.GVR
	w.metrics.LostWindow(gvr.Group, gvr.Resource, outcome)
	w.log.Info("the upstream has lost what followed the lane's version", zap.String("outcome", outcome),
		zap.Stringer("from", known[0]), zap.Stringers("proven", known[1:]), zap.Stringer("to", rv))
	if outcome == replayed {
		w.shape = last.Shape() // which stays, and has the same columns
	}
	return outcome == replayed
}

// mayReplay tells why the list that has just been read cannot be compared with the last State, or "bridged". Objects
// are compared by their bytes: those must have been written in one way.
func (w *writer) mayReplay(ctx context.Context, last *cache.State) string {
	switch now := time.Now(); {
	case !w.replays:
		return bridgingOff
	case w.distrusted || w.pasts != w.met.Load():
		return otherPast
	case !w.mayBeVersion(ctx, now):
		return otherVersion
	case w.isOtherCluster(w.clusters.since(ctx, now)):
		return otherCluster
	case w.listed == nil || w.listed.ask.Accept != w.listWatch.Load().ask.Accept || last.Shape().Reprinted(w.columns),
		w.columns != nil && last.Shape().Prints() != w.shape.Prints():
		return otherRepresentation
	}
	return replayed
}

// mayBeVersion reports whether the upstream may be of the version that the last list was read from, as far as both are
// known. Where they are not, the bytes of objects tell.
func (w *writer) mayBeVersion(ctx context.Context, moment time.Time) bool {
	now := w.versions.since(ctx, moment)
	return w.version == "" || now == "" || now == w.version
}

// sameCluster fails when the upstream is another cluster than the one that the lane was listed from. It asks after a
// watch that broke off: an address may lead elsewhere since, as to a standby whose resourceVersions are higher, where
// the lane's version means something else. An answer from before the new watch was opened does not count: the address
// may have changed after it. Lanes that open their watches during one question share the next. Where the upstream does
// not tell, the lane goes on, and asks again when the next watch is opened.
func (w *writer) sameCluster(ctx context.Context, opened time.Time) error {
	if !w.doubted {
		return nil
	}
	uid := w.clusters.since(ctx, opened)
	switch {
	case uid == "":
		return nil
	case w.isOtherCluster(uid):
		return fmt.Errorf("%w: %s, before it was %s", errElsewhere, uid, w.cluster)
	}
	w.cluster, w.doubted = uid, false
	return nil
}

// isOtherCluster tells whether the upstream is another cluster's than before, or does not tell any more.
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
