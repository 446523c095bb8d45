package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/wire"
)

// errUnproven says that a snapshot is not what the upstream has, or cannot be shown to be.
var errUnproven = errors.New("the snapshot is not proven")

// watchGrace is how long a watch from a version that the upstream has forgotten may take to say so.
const watchGrace = 100 * time.Millisecond

// restore fills a lane that has never shown anything from the snapshot that the process before has left, and opens its
// watch (docs/adr/0024-lanes-leave-snapshots.md). nil: there was none, or it is not proven, and the lane has to be
// filled in another way.
func (w *writer) restore(ctx context.Context) (*stream, error) {
	r := w.reflector
	if _, err := r.Cache.State(); err == nil || w.snapshotDir == "" || r.Resource.ReadFromEtcd() || isSecret(r.Resource) {
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

// restored is the content of a snapshot.
type restored struct {
	objects  map[string]*cache.Object
	changes  []cache.Change
	base     cache.RV
	rv       cache.RV
	versions map[string]string // of the objects in the end, by key
}

func (w *writer) restoreFrom(ctx context.Context, path string) (*stream, error) {
	s, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if err := w.agrees(ctx, s.Header); err != nil {
		return nil, err
	}
	content, err := w.replay(s)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if err := w.verify(ctx, content.rv); err != nil {
		return nil, err
	}
	open, err := w.listWatch.Load().watch(ctx, watchQuery(content.rv), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	open.look()
	err = w.prove(ctx, content)
	if err == nil {
		err = open.lasts(watchGrace)
	}
	if err == nil {
		err = w.publishPast(ctx, content)
	}
	if err != nil {
		open.close()
		<-open.ahead // nobody reads it any more
		return nil, err
	}
	return open, nil
}

// agrees tells why a snapshot is not one of this lane.
func (w *writer) agrees(ctx context.Context, h snapshot.Header) error {
	uid, err := w.peers.cluster(ctx)
	if err != nil {
		return fmt.Errorf("ask which cluster the upstream is: %w", err)
	}
	version := w.versions.since(ctx, time.Now().Add(-versionAge))
	want := w.listWatch.Load().header(uid, version, w.reflector.Encoding)
	want.Base, want.RV, want.Objects, want.Events, want.Taken = h.Base, h.RV, h.Objects, h.Events, h.Taken
	if h != want || version == "" {
		return fmt.Errorf("%w: it is of %+v, the lane of %+v", errUnproven, h, want)
	}
	return nil
}

// replay reads what the snapshot holds, as it would be read from the upstream. Nobody sees it yet.
func (w *writer) replay(from *snapshot.Snapshot) (*restored, error) {
	by := w.listWatch.Load()
	s := &stream{listWatch: by, body: io.NopCloser(from), frames: by.framing.Reader(from, wire.FrameLimit), cancel: func() {}}
	c := &restored{objects: map[string]*cache.Object{}, versions: map[string]string{}}
	filling, begun := w.reflector.Cache.Fill(), false
	for {
		st, err := s.next()
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			if !begun || uint64(c.rv) != from.RV || len(c.objects) != from.Objects || len(c.changes) != from.Events {
				return nil, fmt.Errorf("%w: it holds something else than it says", snapshot.ErrBroken)
			}
			return c, nil
		case err != nil:
			return nil, err
		}
		w.setColumns(st.columns)
		switch {
		case st.kind == stepInitialEnd && !begun:
			begun, s.ordered, c.base, c.rv = true, true, st.rv, st.rv
			w.reflector.marked.Store(true)
			w.learnBookmark(st.frame)
		case st.kind != stepChange:
			c.rv = st.rv
		default:
			filling.Add(st.change.Object)
			if err := w.fits(filling.Memory()); err != nil {
				return nil, err
			}
			if err := c.take(st.change, begun); err != nil {
				return nil, err
			}
		}
	}
}

// take takes an object of the base, or an event behind it.
func (c *restored) take(change cache.Change, begun bool) error {
	o := change.Object
	delete(c.versions, o.Key())
	if change.Kind != cache.Delete {
		c.versions[o.Key()] = o.RV.String()
	}
	if begun {
		if o.RV <= c.rv {
			return fmt.Errorf("%w: an event at %d behind %d", snapshot.ErrBroken, o.RV, c.rv)
		}
		c.changes, c.rv = append(c.changes, change), o.RV
		return nil
	}
	if c.objects[o.Key()] != nil || change.Kind == cache.Delete {
		return fmt.Errorf("%w: %s is there twice", snapshot.ErrBroken, o.Key())
	}
	c.objects[o.Key()] = o
	return nil
}

// publishPast makes what was proven the lane's.
func (w *writer) publishPast(ctx context.Context, c *restored) error {
	if err := w.publish(ctx, c.base, c.objects); err != nil {
		return err
	}
	for _, change := range c.changes {
		if err := w.reflector.Cache.Apply(change); err != nil {
			return fmt.Errorf("apply an event of the snapshot: %w", err)
		}
	}
	w.reflector.Cache.Progress(c.rv)
	return nil
}
