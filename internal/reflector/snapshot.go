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

// snapshotAge is after what time what was left of a lane that there is no more is removed.
const snapshotAge = 24 * time.Hour

// errNoTime says that a lane's snapshot was not written in Config.SnapshotPeriod.
var errNoTime = errors.New("the time for snapshots is over")

// snapshots leaves a snapshot of each lane for the next process (docs/adr/0024-lanes-leave-snapshots.md), as many as it
// can in Config.SnapshotPeriod. It is called when nothing is read from them any more.
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

// leave leaves snapshots until a context ends, and logs how many there are then, and of which lanes there is none.
func (l *Lanes) leave(ctx context.Context, all map[laneKey]*Reflector) {
	began := time.Now()
	if err := snapshot.CleanUnfinished(l.config.SnapshotDir); err != nil {
		l.log.Warn("what a process was writing that was killed is left over", zap.Error(err))
	}
	written, without := 0, []string{}
	for _, r := range bySize(all) {
		switch err := r.writer.leaveLogged(ctx, l.config.SnapshotDir); {
		case errors.Is(err, errNoSnapshot):
		case err != nil:
			without = append(without, r.snapshotName())
		default:
			written++
		}
	}
	tell := l.log.Info
	if len(without) > 0 {
		tell = l.log.Warn
	}
	tell("lanes have left snapshots", zap.Int("written", written), zap.Int("notWritten", len(without)), zap.Strings("without", without),
		zap.Duration("took", time.Since(began)))
	names := map[string]bool{} // if they are not of now, what is there of before may be proven
	for _, r := range all {
		names[r.snapshotName()] = true
	}
	if err := snapshot.Clean(l.config.SnapshotDir, time.Now().Add(-snapshotAge), func(name string) bool { return names[name] }); err != nil {
		l.log.Warn("snapshots of before are left over", zap.Error(err))
	}
}

// bySize puts small lanes first, so that one that is too large for the time costs no other its snapshot.
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

// errNoSnapshot says that a lane is none to leave a snapshot of.
var errNoSnapshot = errors.New("the lane is not filled, or not of a kind that can be resumed")

// snapshotName is the file of a lane.
func (r *Reflector) snapshotName() string {
	gvr := r.Resource.GVR
	return strings.Join([]string{gvr.Resource, gvr.Group, gvr.Version, r.Encoding.Name()}, ".") + snapshot.Suffix
}

// leaveLogged leaves the lane's snapshot, and logs how that went.
func (w *writer) leaveLogged(ctx context.Context, dir string) error {
	began := time.Now()
	size, err := w.leave(ctx, dir)
	switch {
	case errors.Is(err, errNoSnapshot):
	case err != nil:
		w.log.Warn("the lane leaves no snapshot", zap.Error(err))
	default:
		w.log.Info("the lane leaves a snapshot", zap.Int("objects", size), zap.Duration("took", time.Since(began)))
	}
	return err
}

// leave writes the lane's snapshot, and returns of how many objects. Of a resource that is read from etcd nothing tells
// how far its content is complete; of a custom one whose definition may not be read, whether that is the same later;
// secrets are not written to a disk, should they be cached.
func (w *writer) leave(ctx context.Context, dir string) (int, error) {
	r, origin := w.reflector, w.origin.Load()
	by := w.synced.Load() // which is later than its origin
	if by == nil || r.Resource.ReadFromEtcd() || isSecret(r.Resource) || r.Undefined() {
		return 0, errNoSnapshot
	}
	if err := origin.await(ctx); err != nil {
		return 0, err
	}
	switch {
	case origin.version == "":
		return 0, errNoSnapshot
	case origin.cluster == "":
		return 0, fmt.Errorf("ask which cluster the upstream is: %w", errNotSaid)
	}
	past, err := r.Cache.Past()
	if err != nil {
		return 0, errNoSnapshot
	}
	h := by.header(origin.cluster, origin.version, r.Encoding)
	h.Marked = r.Marked()
	h.Base, h.RV, h.Objects, h.Events, h.Taken = uint64(past.Base.RV()), uint64(past.RV), past.Base.Len(), past.Len, time.Now()
	return h.Objects, snapshot.Write(ctx, dir, r.snapshotName(), h, func(out io.Writer) error { return by.record(out, past, r.Bookmark()) })
}

// header is what a snapshot of a lane has to say, beside what it holds.
func (l *listWatch) header(cluster, version string, e wire.Encoding) snapshot.Header {
	return snapshot.Header{
		Cluster: cluster, Resource: l.resource.GVR.String(), Encoding: e.Name(), Accept: l.ask.Accept, Upstream: version,
		Definition: l.defined.uid, Generation: l.defined.generation,
	}
}

// record writes a lane's past as the upstream would stream it: a streaming list of the base, and the events behind it.
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
