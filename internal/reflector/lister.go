package reflector

import (
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

// initialWait is the maximum time in which a streaming list brings neither an object nor its end. The upstream sends
// this list from memory, so a longer pause is a failure. client-go's reflectors log a warning after the same time.
const initialWait = 10 * time.Second

// lister reads lists of a lane's objects from the upstream or a peer.
type lister struct {
	lane      *lane
	quota     *quota
	pageBytes int64 // maximum size of a page of a list, in bytes
	pagedFrom int   // minimum number of objects to list by pages
	streaming bool  // whether the upstream supports streaming lists; false after a refusal
	unpaged   bool  // whether streaming lists are used because pages failed

	peers   *peers
	check   *upstreamCheck
	learner *learner
}

// list reads a list. If the upstream refuses a representation, list requests the next one. snapshots is set if the
// upstream serves pages of a list from memory.
func (l *lister) list(ctx context.Context, e *epoch, snapshots bool) (*list, error) {
	for {
		all, err := l.listOnce(ctx, e, snapshots)
		if !upstream.HasCode(err, http.StatusNotAcceptable) || len(e.asks) == 1 {
			return all, err
		}
		l.lane.log.Info("Upstream refused the media type; trying the next one",
			zap.String("refused", e.asks[0].Accept), zap.String("next", e.asks[1].Accept))
		e.asks = e.asks[1:]
		e.listWatch = l.lane.newListWatch(e.discovered, e.asks[0])
	}
}

func (l *lister) listOnce(ctx context.Context, e *epoch, snapshots bool) (*list, error) {
	if snapshots && !l.unpaged {
		if all, err := l.paged(ctx, e); all != nil || err != nil {
			return all, err
		}
	}
	if l.streaming {
		all, err := l.stream(ctx, e)
		refused := isUnsupported(err)
		// A slow response may be an exception, so only a refusal disables streaming lists permanently.
		if !refused && !errors.Is(err, errEndless) {
			return all, err
		}
		l.streaming = !refused
		l.lane.log.Info("Upstream sent no streaming list; listing page by page", zap.Error(err))
	}
	return l.pages(ctx, e)
}

func isUnsupported(err error) bool {
	return upstream.HasCode(err, http.StatusBadRequest, http.StatusUnprocessableEntity)
}

// stream reads a streaming list (KEP-3157). Each object arrives in a separate frame, and an annotated bookmark ends the
// initial state. The same stream then continues as the watch.
func (l *lister) stream(ctx context.Context, e *epoch) (*list, error) {
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
	all, err := l.initial(e, s, asked, patience)
	patience.Stop()
	if err == nil {
		s.ordered = true
		all.open = s
		return all, nil
	}
	s.close()
	if late.Load() && ctx.Err() == nil {
		return nil, errEndless
	}
	return nil, err
}

func (l *lister) initial(e *epoch, s *stream, asked time.Time, patience *time.Timer) (*list, error) {
	objects, filling := map[string]*cache.Object{}, l.lane.Cache.Fill()
	highest := ""
	for {
		st, err := s.next()
		if err != nil {
			return nil, err
		}
		e.setColumns(l.lane.log, st.columns)
		switch o := st.change.Object; {
		case st.kind == stepInitialEnd:
			patience.Stop() // the list is complete, and its comparison with the lane may take longer than initialWait
			l.lane.learnBookmark(e.listWatch, st.frame)
			return newList(st.rv.String(), objects, asked)
		case st.kind == stepChange && st.change.Kind == cache.Delete:
			delete(objects, o.Key())
		case st.kind == stepChange:
			filling.Add(o)
			if err := l.quota.fits(filling.Memory()); err != nil {
				return nil, err
			}
			objects[o.Key()] = o
			l.lane.fill.objects.Store(int64(len(objects)))
			if o.Key() > highest { // initial events arrive in the order of their keys; other events do not restart the timer
				highest = o.Key()
				patience.Reset(initialWait)
			}
		}
	}
}

// pages reads a paginated list. All pages must have one resourceVersion, and only the last page may be empty.
func (l *lister) pages(ctx context.Context, e *epoch) (*list, error) {
	objects := map[string]*cache.Object{}
	add := l.quota.adder(e.listWatch, objects, l.lane.Cache.Fill())
	version, query := "", url.Values{"limit": {strconv.Itoa(pageObjects)}}
	for {
		before := len(objects)
		body, err := l.lane.client.Get(ctx, e.target(e.resource.Path(""), query), e.ask.Accept, pageLimit)
		if err != nil {
			return nil, err
		}
		head, err := e.reader.List(body, add)
		switch {
		case err != nil:
		case head.Continue != "" && len(objects) == before:
			err = errors.New("an empty page has a continue token")
		case version == "":
			version = head.ResourceVersion
			e.setColumns(l.lane.log, head.Columns)
		case head.ResourceVersion != version:
			err = fmt.Errorf("pages have the resourceVersions %q and %q", version, head.ResourceVersion)
		}
		if err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		if head.Continue == "" {
			break
		}
		query.Set("continue", head.Continue)
	}
	l.lane.knowBookmark(e.shape)
	return newList(version, objects, time.Time{})
}

// adder returns a function that adds an item to objects. The function fails if the item is invalid or memory is
// lacking.
func (q *quota) adder(
	l *listWatch, objects map[string]*cache.Object, filling *cache.Filling,
) func(wire.Item, wire.Facts) error {
	return func(item wire.Item, facts wire.Facts) error {
		o, err := l.newObject(item, &facts)
		if err != nil {
			return err
		}
		if objects[o.Key()] != nil {
			return fmt.Errorf("%s appears twice", o.Key())
		}
		filling.Add(o)
		objects[o.Key()] = o
		q.lane.fill.objects.Store(int64(len(objects)))
		return q.fits(filling.Memory())
	}
}
