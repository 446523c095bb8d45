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
	// pagedFrom is how many objects pages pay for: fewer are filled by a streaming list, which is one question, where
	// pages and the watch behind them are five.
	pagedFrom = 50
	// listings is how often a listing is begun whose pages the upstream forgets meanwhile, before it is asked for a
	// streaming list.
	listings = 3
)

// errFew says that a listing is not worth its pages.
var errFew = errors.New("there are few objects")

// paged fills the lane with pages of whole objects and, beside them, of rows that hold none. Rows with whole objects,
// as in its watches, cost kube-apiserver three times as much (docs/adr/0017-lanes-are-filled-by-pages.md). filled is
// false when a streaming list has to fill the lane.
func (w *writer) paged(ctx context.Context) (filled bool, err error) {
	for range listings {
		err = w.list(ctx)
		if !isLost(err) {
			break
		}
		w.log.Info("the upstream has forgotten the list's version before its last page; listing anew", zap.Error(err))
	}
	switch {
	case errors.Is(err, errFew):
		return false, nil
	case errors.Is(err, wire.ErrUnaligned):
		w.unpaged = true
	case !isLost(err):
		return err == nil, err
	}
	w.log.Info("the lane is not filled page by page", zap.Error(err))
	return false, nil
}

// list reads one listing and publishes it. It counts as asked for when the version was that it begins at.
func (w *writer) list(ctx context.Context) error {
	r := w.reflector
	l := w.listing(w.client, w.discovered.rv)
	if err := w.firstRows(ctx, l); err != nil {
		return err
	}
	if err := w.learnMarks(ctx); err != nil {
		return err
	}
	objects, err := w.read(ctx, l)
	if err != nil {
		return err
	}
	rv, err := cache.ParseRV(l.version)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	if err := w.publish(ctx, rv, objects); err != nil {
		return err
	}
	r.checker.Synced(w.discovered.asked)
	return nil
}

// firstRows reads the first rows, which tell how many objects there are.
func (w *writer) firstRows(ctx context.Context, l *listing) error {
	if l.rows.done {
		return nil // there are none
	}
	var body bytes.Buffer
	head, err := l.next(ctx, &l.rows, &body)
	if err != nil {
		return err
	}
	if err := w.takeRows(l, body.Bytes()); err != nil {
		return err
	}
	w.reflector.fill.expected.Store(int64(l.reader.Rest()) + head.Remaining)
	if head.Continue == "" && l.reader.Rest() < w.pagedFrom {
		return errFew
	}
	return nil
}

// listing is a list that fills the lane, of a version or a later one, and counts what its pages take.
func (w *writer) listing(from *upstream.Client, at cache.RV) *listing {
	r := w.reflector
	r.fill.pages.Store(0)
	pages := r.Encoding.Pages(w.description(), w.asks[0], pathsOf(r.Kind()))
	return newListing(from, r.Resource, pages, at, w.pageBytes, func(bytes int64) { r.fill.pages.Add(bytes) })
}

func (w *writer) takeRows(l *listing, body []byte) error {
	head, err := l.reader.Rows(body)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	w.setColumns(head.Columns)
	return nil
}

// read reads the pages of a listing while a goroutine fetches the next; it has ended when read returns.
func (w *writer) read(ctx context.Context, l *listing) (map[string]*cache.Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	pages, failed, spare := make(chan page), make(chan error, 1), make(chan *bytes.Buffer, 2)
	spare <- new(bytes.Buffer)
	spare <- new(bytes.Buffer)
	go func() {
		defer close(pages)
		failed <- l.fetch(ctx, pages, spare)
	}()
	defer func() {
		cancel()
		for range pages { // none is taken any more
		}
	}()
	objects := map[string]*cache.Object{}
	add := w.adder(w.listWatch.Load(), objects, w.reflector.Cache.Fill())
	for p := range pages {
		before := len(objects)
		if err := w.readPage(l, p, add); err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		if p.head.Continue != "" && len(objects) == before {
			return nil, errors.New("read a list: a page without objects is not the last")
		}
		w.reflector.fill.expects(int64(len(objects)) + p.head.Remaining)
		spare <- p.objects
	}
	err := <-failed
	if err == nil && l.reader.Rest() > 0 {
		err = fmt.Errorf("%w: %d rows are left over", wire.ErrUnaligned, l.reader.Rest())
	}
	return objects, err
}

// readPage adds the objects of a page.
func (w *writer) readPage(l *listing, p page, add func(wire.Item, wire.Facts) error) error {
	for _, rows := range p.rows {
		if err := w.takeRows(l, rows); err != nil {
			return err
		}
	}
	head, err := l.reader.Objects(p.objects.Bytes(), add)
	if err == nil && (head.Continue != p.head.Continue || head.ResourceVersion != p.head.ResourceVersion) {
		err = errors.New("a page says two things of itself")
	}
	return err
}

// adder makes objects of what is read in lists.
func (w *writer) adder(
	l *listWatch, objects map[string]*cache.Object, filling *cache.Filling,
) func(wire.Item, wire.Facts) error {
	return func(item wire.Item, facts wire.Facts) error {
		o, err := l.newObject(item, &facts)
		if err != nil {
			return err
		}
		if objects[o.Key()] != nil {
			return fmt.Errorf("%s is there twice", o.Key())
		}
		filling.Add(o)
		objects[o.Key()] = o
		w.reflector.fill.objects.Store(int64(len(objects)))
		return w.fits(filling.Memory())
	}
}

// learnMarks learns from a streaming list of nothing what bookmarks look like, and that the upstream sends them.
func (w *writer) learnMarks(ctx context.Context) error {
	query := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"},
	}
	nothing := w.reflector.Resource.Nothing()
	for name, values := range nothing.Query {
		query[name] = values
	}
	s, err := w.listWatch.Load().watchAt(ctx, nothing.Path, query, progressWatchSeconds)
	if err == nil {
		err = w.firstMark(s)
		s.close()
	}
	if isRefusal(err) {
		w.streaming = false
	} else if !errors.Is(err, errEndless) {
		return err
	}
	w.log.Info("the upstream shows no bookmark; the least that every bookmark has is sent", zap.Error(err))
	w.knowBookmark()
	return nil
}

// firstMark reads up to the end of initial events, of which there are none.
func (w *writer) firstMark(s *stream) error {
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
	w.reflector.marked.Store(true)
	w.learnBookmark(st.frame)
	return nil
}
