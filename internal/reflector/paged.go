package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// pagedFrom is the minimum number of objects for which pages are used. Fewer objects are read by a streaming list,
	// which is one request. Pages and the watch after them are five requests.
	pagedFrom = 50
	// listings is the maximum number of listings whose version expires before the last page. After that, a streaming list
	// is used.
	listings = 3
)

// errFew is the error if a resource has too few objects for pages.
var errFew = errors.New("too few objects for pages")

// paged fills the lane by pages of complete objects and separate pages of rows without objects. Rows that contain
// complete objects, as in watches, cost kube-apiserver three times as much
// (docs/adr/0017-lanes-are-filled-by-pages.md). If filled is false, the caller has to fill the lane by a streaming
// list.
func (w *writer) paged(ctx context.Context, e *epoch) (filled bool, err error) {
	for range listings {
		err = w.list(ctx, e)
		if !isLost(err) {
			break
		}
		w.lane.log.Info("List version expired before the last page; listing again", zap.Error(err))
	}
	switch {
	case errors.Is(err, errFew):
		return false, nil
	case errors.Is(err, wire.ErrUnaligned):
		w.unpaged = true
	case !isLost(err):
		return err == nil, err
	}
	w.lane.log.Info("Could not list page by page; using one streaming list", zap.Error(err))
	return false, nil
}

// list reads one listing and publishes it. For freshness checks, the list counts as requested when its minimum version
// was read.
func (w *writer) list(ctx context.Context, e *epoch) error {
	l := w.listing(e, w.lane.client, e.rv)
	if err := w.firstRows(ctx, e, l); err != nil {
		return err
	}
	if err := w.learnMarks(ctx, e); err != nil {
		return err
	}
	objects, err := w.read(ctx, e, l)
	if err != nil {
		return err
	}
	rv, err := cache.ParseRV(l.version)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	if err := w.publisher.publish(ctx, e, rv, objects); err != nil {
		return err
	}
	w.checker.Synced(e.asked)
	return nil
}

// firstRows reads the first page of rows, which shows how many objects there are.
func (w *writer) firstRows(ctx context.Context, e *epoch, l *listing) error {
	if l.rows.done {
		return nil // the resource has no rows
	}
	var body bytes.Buffer
	head, err := l.next(ctx, &l.rows, &body)
	if err != nil {
		return err
	}
	if err := w.takeRows(e, l, body.Bytes()); err != nil {
		return err
	}
	w.lane.fill.expected.Store(int64(l.reader.Rest()) + head.Remaining)
	if head.Continue == "" && l.reader.Rest() < w.pagedFrom {
		return errFew
	}
	return nil
}

// listing returns a listing that fills the lane, of at least version at. The memory of its pages counts as memory of
// the lane.
func (w *writer) listing(e *epoch, from *upstream.Client, at cache.RV) *listing {
	r := w.lane
	r.fill.pages.Store(0)
	pages := r.Encoding.Pages(e.about, e.ask, pathsOf(e.kind))
	return newListing(from, r.Resource, pages, at, w.pageBytes, func(bytes int64) { r.fill.pages.Add(bytes) })
}

func (w *writer) takeRows(e *epoch, l *listing, body []byte) error {
	head, err := l.reader.Rows(body)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	e.setColumns(w.lane.log, head.Columns)
	return nil
}

// read reads the pages of a listing while a goroutine fetches the next ones. The goroutine has ended when read returns.
func (w *writer) read(ctx context.Context, e *epoch, l *listing) (map[string]*cache.Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	pages, failed, spareBuffers := make(chan page), make(chan error, 1), make(chan *bytes.Buffer, 2)
	spareBuffers <- new(bytes.Buffer)
	spareBuffers <- new(bytes.Buffer)
	go func() {
		defer close(pages)
		failed <- l.fetch(ctx, pages, spareBuffers)
	}()
	defer func() {
		cancel()
		for range pages { // discard the rest
		}
	}()
	objects := map[string]*cache.Object{}
	add := w.adder(e.listWatch, objects, w.lane.Cache.Fill())
	for p := range pages {
		before := len(objects)
		if err := w.readPage(e, l, p, add); err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		if p.head.Continue != "" && len(objects) == before {
			return nil, errors.New("read a list: a page without objects is not the last one")
		}
		w.lane.fill.noteExpected(int64(len(objects)) + p.head.Remaining)
		spareBuffers <- p.objects
	}
	err := <-failed
	if err == nil && l.reader.Rest() > 0 {
		err = fmt.Errorf("%w: %d rows without an object", wire.ErrUnaligned, l.reader.Rest())
	}
	return objects, err
}

// readPage adds the objects of a page.
func (w *writer) readPage(e *epoch, l *listing, p page, add func(wire.Item, wire.Facts) error) error {
	for _, rows := range p.rows {
		if err := w.takeRows(e, l, rows); err != nil {
			return err
		}
	}
	head, err := l.reader.Objects(p.objects.Bytes(), add)
	if err == nil && (head.Continue != p.head.Continue || head.ResourceVersion != p.head.ResourceVersion) {
		err = errors.New("the head of a page changed between two reads")
	}
	return err
}

// adder returns a function that makes objects of the items in lists.
func (w *writer) adder(
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
		w.lane.fill.objects.Store(int64(len(objects)))
		return w.quota.fits(filling.Memory())
	}
}

// learnMarks opens a streaming list that matches no object. The bookmark at its end shows which fields bookmarks have,
// and that the upstream sends bookmarks.
func (w *writer) learnMarks(ctx context.Context, e *epoch) error {
	query := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"},
	}
	nothing := w.lane.Resource.Nothing()
	for name, values := range nothing.Query {
		query[name] = values
	}
	s, err := e.watchAt(ctx, nothing.Path, query, progressWatchSeconds)
	if err == nil {
		err = w.firstMark(e, s)
		s.close()
	}
	if isUnsupported(err) {
		w.streaming = false
	} else if !errors.Is(err, errEndless) {
		return err
	}
	w.lane.log.Info("Upstream sent no bookmark; sending bookmarks with minimal fields", zap.Error(err))
	w.lane.knowBookmark(e.shape)
	return nil
}

// firstMark reads the first frame of the stream, which must be the bookmark at the end of the initial events.
func (w *writer) firstMark(e *epoch, s *stream) error {
	patience := time.AfterFunc(initialWait, s.close)
	st, err := s.next()
	inTime := patience.Stop()
	switch {
	case !inTime || errors.Is(err, io.EOF):
		return errEndless
	case err != nil:
		return err
	case st.kind != stepInitialEnd:
		return errEndless
	}
	w.lane.marked.Store(true)
	w.lane.learnBookmark(e.listWatch, st.frame)
	return nil
}
