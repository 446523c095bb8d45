package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// pageObjects is the number of objects in a page of a paginated list: 500 pods are 8 MB.
	pageObjects = 500
	// pageLimit is the maximum size of a page in bytes.
	pageLimit = 1 << 30
)

// initialWait is the maximum time of a streaming list without a further initial event or the final bookmark. The
// upstream sends this list from memory, so a longer gap is a failure. client-go's reflectors log a warning after the
// same time.
const initialWait = 10 * time.Second

// sync fills the lane from a snapshot, a peer or the upstream, and publishes the result. It returns the watch that
// continues from there, or nil if none is open yet. The epoch continues if the differences can be replayed (replay).
// Otherwise a new one begins.
func (w *writer) sync(ctx context.Context, e *epoch) (*stream, error) {
	if open, err := w.restorer.restore(ctx, e); open != nil || err != nil {
		if err == nil {
			w.lane.metrics.Filled("snapshot")
		}
		return open, err
	}
	if open, err := w.warm(ctx, e); open != nil || err != nil {
		if err == nil {
			w.lane.metrics.Filled("peer")
		}
		return open, err
	}
	for {
		open, err := w.syncOnce(ctx, e)
		if err == nil {
			w.lane.metrics.Filled("upstream")
		}
		if upstream.HasCode(err, http.StatusNotAcceptable) && len(e.asks) > 1 {
			w.lane.log.Info("Upstream refused the media type; trying the next one",
				zap.String("refused", e.asks[0].Accept), zap.String("next", e.asks[1].Accept))
			e.asks = e.asks[1:]
			e.listWatch = w.lane.newListWatch(e.discovered, e.asks[0])
			continue
		}
		return open, err
	}
}

func (w *writer) syncOnce(ctx context.Context, e *epoch) (*stream, error) {
	if w.snapshots && !w.unpaged {
		if filled, err := w.paged(ctx, e); filled || err != nil {
			return nil, err
		}
	}
	if w.streaming {
		open, err := w.stream(ctx, e)
		refused := isUnsupported(err)
		// A slow response may be an exception, so only a refusal disables streaming lists permanently.
		if !refused && !errors.Is(err, errEndless) {
			return open, err
		}
		w.streaming = !refused
		w.lane.log.Info("Upstream sent no streaming list; listing page by page", zap.Error(err))
	}
	return nil, w.pages(ctx, e)
}

// isUnsupported reports whether the upstream refuses streaming lists.
func isUnsupported(err error) bool {
	return upstream.HasCode(err, http.StatusBadRequest, http.StatusUnprocessableEntity)
}

// stream reads a streaming list (KEP-3157). Each object arrives in a separate frame, and an annotated bookmark ends the
// initial state. The same stream then continues as the watch.
func (w *writer) stream(ctx context.Context, e *epoch) (*stream, error) {
	query := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"},
	}
	asked := time.Now()
	s, err := e.watch(ctx, query, 600)
	if err != nil {
		return nil, err
	}
	s.ordered = false
	var late atomic.Bool
	patience := time.AfterFunc(initialWait, func() { late.Store(true); s.close() })
	err = w.initial(ctx, e, s, patience)
	patience.Stop()
	if err == nil {
		w.checker.Synced(asked)
		s.ordered = true
		return s, nil
	}
	s.close()
	if late.Load() && ctx.Err() == nil {
		return nil, errEndless
	}
	return nil, err
}

// initial reads a streaming list to the end of its initial state, and publishes it.
func (w *writer) initial(ctx context.Context, e *epoch, s *stream, patience *time.Timer) error {
	objects, filling := map[string]*cache.Object{}, w.lane.Cache.Fill()
	highest := ""
	for {
		st, err := s.next()
		if err != nil {
			return err
		}
		e.setColumns(w.lane.log, st.columns)
		switch o := st.change.Object; {
		case st.kind == stepInitialEnd:
			patience.Stop() // the list is complete, and the comparison in publish may take longer than initialWait
			w.lane.marked.Store(true)
			w.lane.learnBookmark(e.listWatch, st.frame)
			return w.publisher.publish(ctx, e, st.rv, objects)
		case st.kind == stepChange && st.change.Kind == cache.Delete:
			delete(objects, o.Key())
		case st.kind == stepChange:
			filling.Add(o)
			if err := w.quota.fits(filling.Memory()); err != nil {
				return err
			}
			objects[o.Key()] = o
			w.lane.fill.objects.Store(int64(len(objects)))
			if o.Key() > highest { // initial events arrive in the order of their keys; other events do not restart the timer
				highest = o.Key()
				patience.Reset(initialWait)
			}
		}
	}
}

// pages reads a paginated list from an upstream without streaming lists. All pages have one resourceVersion.
func (w *writer) pages(ctx context.Context, e *epoch) error {
	objects, filling := map[string]*cache.Object{}, w.lane.Cache.Fill()
	version, token := "", ""
	for {
		list, err := w.page(ctx, e, token, objects, filling)
		if err != nil {
			return err
		}
		if version == "" {
			version = list.ResourceVersion
			e.setColumns(w.lane.log, list.Columns)
		}
		if list.ResourceVersion != version {
			return fmt.Errorf("read a list: pages have the resourceVersions %q and %q", version, list.ResourceVersion)
		}
		if token = list.Continue; token == "" {
			break
		}
	}
	rv, err := cache.ParseRV(version)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	w.lane.knowBookmark(e.shape)
	return w.publisher.publish(ctx, e, rv, objects)
}

// page adds the objects of one page. A page without objects is an error unless it is the last one.
func (w *writer) page(ctx context.Context, e *epoch, token string, objects map[string]*cache.Object,
	filling *cache.Filling) (wire.ListHead, error) {
	query := url.Values{"limit": {strconv.Itoa(pageObjects)}}
	if token != "" {
		query.Set("continue", token)
	}
	d, before := e.listWatch, len(objects)
	body, err := w.lane.client.Get(ctx, d.target(d.resource.Path(""), query), d.ask.Accept, pageLimit)
	if err != nil {
		return wire.ListHead{}, err
	}
	list, err := d.reader.List(body, w.adder(d, objects, filling))
	if err == nil && list.Continue != "" && len(objects) == before {
		err = errors.New("a page without objects is not the last one")
	}
	if err != nil {
		return wire.ListHead{}, fmt.Errorf("read a list: %w", err)
	}
	return list, nil
}

// setColumns stores the columns of a list's Table.
func (e *epoch) setColumns(log *zap.Logger, raw []byte) {
	if len(raw) == 0 {
		return
	}
	e.columns = bytes.Clone(raw)
	printed, err := e.shape.WithColumns(raw)
	if err != nil {
		log.Warn("Failed to parse the upstream's Table columns", zap.Error(err))
		return
	}
	e.shape = printed
}
