package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/wire"
)

// snapshotAge is the age after which a snapshot is removed if no lane for it is running.
const snapshotAge = 24 * time.Hour

// errNoTime is the error if a lane's snapshot was not written within Config.SnapshotPeriod.
var errNoTime = errors.New("the period for snapshots has ended")

// snapshots writes a snapshot of each lane for the next process (docs/adr/0024-lanes-leave-snapshots.md), as many as
// possible within Config.SnapshotPeriod. The caller calls it after the last read from the lanes.
func (l *Lanes) snapshots(all map[laneKey]*Reflector) {
	if l.config.SnapshotDir == "" {
		return
	}
	ctx := context.Background()
	if period := l.config.SnapshotPeriod; period > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, period, errNoTime)
		defer cancel()
	}
	l.leave(ctx, all)
}

// leave writes snapshots until a context ends. It logs how many were written, and which lanes have none.
func (l *Lanes) leave(ctx context.Context, all map[laneKey]*Reflector) {
	began := time.Now()
	if err := snapshot.CleanUnfinished(l.config.SnapshotDir); err != nil {
		l.log.Warn("Failed to remove partial snapshots of an earlier process", zap.Error(err))
	}
	written, without := 0, []string{}
	for _, r := range bySize(all) {
		switch err := r.leaveLogged(ctx, l.config.SnapshotDir); {
		case errors.Is(err, errNoSnapshot):
		case err != nil:
			without = append(without, r.snapshotName())
		default:
			written++
		}
	}
	log := l.log.Info
	if len(without) > 0 {
		log = l.log.Warn
	}
	log("Snapshots written", zap.Int("written", written), zap.Int("notWritten", len(without)),
		zap.Strings("without", without),
		zap.Duration("took", time.Since(began)))
	names := map[string]bool{} // files of running lanes are not removed, because an older snapshot may still match
	for _, r := range all {
		names[r.snapshotName()] = true
	}
	if err := snapshot.Clean(l.config.SnapshotDir, time.Now().Add(-snapshotAge),
		func(name string) bool { return names[name] }); err != nil {
		l.log.Warn("Failed to remove old snapshots", zap.Error(err))
	}
}

// bySize sorts small lanes first. A lane that is too large for the period then prevents no other snapshot.
func bySize(all map[laneKey]*Reflector) []*Reflector {
	type sized struct {
		*Reflector
		bytes int64
	}
	lanes := make([]sized, 0, len(all))
	for _, r := range all {
		lanes = append(lanes, sized{r, r.Memory()})
	}
	slices.SortFunc(lanes, func(a, b sized) int { return cmp.Compare(a.bytes, b.bytes) })
	sorted := make([]*Reflector, len(lanes))
	for i, lane := range lanes {
		sorted[i] = lane.Reflector
	}
	return sorted
}

// errNoSnapshot is the error for a lane of which no snapshot is written.
var errNoSnapshot = errors.New("the lane is not filled or cannot be restored")

// snapshotName returns the file name of a lane's snapshot.
func (l *lane) snapshotName() string {
	gvr := l.Resource.GVR
	return strings.Join([]string{gvr.Resource, gvr.Group, gvr.Version, l.Encoding.Name()}, ".") + snapshot.Suffix
}

// leaveLogged writes the lane's snapshot and logs the result.
func (l *lane) leaveLogged(ctx context.Context, dir string) error {
	began := time.Now()
	size, err := l.leave(ctx, dir)
	switch {
	case errors.Is(err, errNoSnapshot):
	case err != nil:
		l.log.Warn("Failed to write lane snapshot", zap.Error(err))
	default:
		l.log.Info("Lane snapshot written", zap.Int("objects", size), zap.Duration("took", time.Since(began)))
	}
	return err
}

// leave writes the lane's snapshot, and returns its number of objects. It returns errNoSnapshot for an unfilled lane
// and in three other cases. The lane of a resource that is read from etcd does not show up to which version its objects
// are complete. A custom resource with an unreadable definition may change unnoticed. Secrets must not be written to a
// disk, even if they are cached.
func (l *lane) leave(ctx context.Context, dir string) (int, error) {
	origin := l.origin.Load()
	by := l.synced.Load() // loaded after origin, so it is not of an earlier epoch
	if by == nil || l.Resource.ReadFromEtcd() || isSecret(l.Resource) || l.Undefined() {
		return 0, errNoSnapshot
	}
	if err := origin.await(ctx); err != nil {
		return 0, err
	}
	switch {
	case origin.version == "":
		return 0, errNoSnapshot
	case origin.cluster == "":
		return 0, fmt.Errorf("read the cluster's UID: %w", errNoAnswer)
	}
	past, err := l.Cache.Past()
	if err != nil {
		return 0, errNoSnapshot
	}
	h := by.header(origin.cluster, origin.version, l.Encoding)
	h.Marked = l.Marked()
	h.Base, h.RV, h.Objects, h.Events, h.Taken = uint64(past.Base.RV()), uint64(past.RV), past.Base.Len(), past.Len,
		time.Now()
	return h.Objects, snapshot.Write(ctx, dir, l.snapshotName(), h,
		func(out io.Writer) error { return by.record(out, past, l.Bookmark()) })
}

// header returns the part of a snapshot's header that describes the lane.
func (l *listWatch) header(cluster, version string, e wire.Encoding) snapshot.Header {
	return snapshot.Header{
		Cluster: cluster, Resource: l.resource.GVR.String(), Encoding: e.Name(), Accept: l.ask.Accept, Upstream: version,
		Definition: l.defined.uid, Generation: l.defined.generation,
	}
}

// record writes a lane's history in the format of a watch: a streaming list of the base, then the events after it.
func (l *listWatch) record(out io.Writer, past cache.Past, bookmark *wire.Bookmark) error {
	shape, representation := past.Base.Shape(), wire.Representation{Kind: wire.Whole}
	if strings.Contains(l.ask.Accept, "as=Table") {
		representation = wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}
	}
	framer, frame := shape.Framer(representation), []byte(nil)
	send := func(appended []byte) error {
		_, err := out.Write(appended)
		frame = appended[:0]
		return err
	}
	for o := range past.Base.Objects(cache.Span{}) {
		if err := send(framer.AppendEvent(frame, wire.TypeAdded, o.Item())); err != nil {
			return err
		}
	}
	end := shape.WithResourceVersion(&bookmark.InitialEventsEnd, past.Base.RV().String())
	if err := send(framer.AppendInitialEventsEnd(frame, &end)); err != nil {
		return err
	}
	for change := range past.Events {
		event := wire.TypeModified
		if change.Kind == cache.Delete {
			event = wire.TypeDeleted
		}
		if err := send(framer.AppendEvent(frame, event, change.Object.Item())); err != nil {
			return err
		}
	}
	now := shape.WithResourceVersion(&bookmark.Plain, past.RV.String())
	return send(framer.AppendBookmark(frame, &now))
}
