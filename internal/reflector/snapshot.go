package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// snapshotWait bounds the question that snapshots take, whose answer is known by then as a rule.
	snapshotWait = 2 * time.Second
	// snapshotAge is after what time what was left of a lane that there is no more is removed.
	snapshotAge = 24 * time.Hour
)

// snapshots leaves a snapshot of each lane for the next process (docs/adr/0024-lanes-leave-snapshots.md). It is called
// when nothing is read from them any more.
func (l *Lanes) snapshots(all map[laneKey]*Reflector) {
	if l.config.SnapshotDir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), snapshotWait)
	defer cancel()
	cluster, err := l.peers.cluster(ctx)
	if err != nil {
		l.log.Warn("no snapshots are left", zap.Error(fmt.Errorf("ask which cluster the upstream is: %w", err)))
		return
	}
	left := map[string]bool{}
	for _, r := range all {
		began := time.Now()
		size, err := r.writer.leave(l.config.SnapshotDir, cluster)
		left[r.snapshotName()] = true // if it is not of now, what is there of before may be proven
		switch {
		case errors.Is(err, errNoSnapshot):
		case err != nil:
			r.writer.log.Warn("the lane leaves no snapshot", zap.Error(err))
		default:
			r.writer.log.Info("the lane leaves a snapshot", zap.Int("objects", size), zap.Duration("took", time.Since(began)))
		}
	}
	if err := snapshot.Clean(l.config.SnapshotDir, time.Now().Add(-snapshotAge), func(name string) bool { return left[name] }); err != nil {
		l.log.Warn("snapshots of before are left over", zap.Error(err))
	}
}

// errNoSnapshot says that a lane is none to leave a snapshot of.
var errNoSnapshot = errors.New("the lane is not filled, or not of a kind that can be resumed")

// snapshotName is the file of a lane.
func (r *Reflector) snapshotName() string {
	gvr := r.Resource.GVR
	return strings.Join([]string{gvr.Resource, gvr.Group, gvr.Version, r.Encoding.Name()}, ".") + snapshot.Suffix
}

// leave writes the lane's snapshot, and returns of how many objects. Of a resource that is read from etcd nothing tells
// how far its content is complete; of a custom one whose definition may not be read, whether that is the same later;
// secrets are not written to a disk, should they be cached.
func (w *writer) leave(dir, cluster string) (int, error) {
	r, by, listed := w.reflector, w.synced.Load(), w.told.Load()
	if by == nil || listed == nil || *listed == "" || r.Resource.ReadFromEtcd() || isSecret(r.Resource) || r.Undefined() {
		return 0, errNoSnapshot
	}
	past, err := r.Cache.Past()
	if err != nil {
		return 0, errNoSnapshot
	}
	h := by.header(cluster, *listed, r.Encoding)
	h.Marked = r.Marked()
	h.Base, h.RV, h.Objects, h.Events, h.Taken = uint64(past.Base.RV()), uint64(past.RV), past.Base.Len(), past.Len, time.Now()
	return h.Objects, snapshot.Write(dir, r.snapshotName(), h, func(out io.Writer) error { return by.record(out, past, r.Bookmark()) })
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
	shape, form := past.Base.Shape(), wire.Form{Kind: wire.Whole}
	if strings.Contains(l.ask.Accept, "as=Table") {
		form = wire.Form{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}
	}
	framer, frame := shape.Framer(form), []byte(nil)
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
