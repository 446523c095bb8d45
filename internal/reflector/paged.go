package reflector

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// pagedFrom is the default of Config.PagedFrom. A streaming list is one request. Pages and the watch after them take
	// at least five requests.
	pagedFrom = 50
	// listings is how often a list by pages is tried if its version expires before the last page.
	listings = 3
)

var errFew = errors.New("too few objects for pages")

// paged reads a list by pages of complete objects and separate pages of rows without objects. Rows that contain
// complete objects, as in watches, cost kube-apiserver three times as much as both kinds of pages together
// (docs/adr/0017-lanes-are-filled-by-pages.md). If paged returns neither a list nor an error, the caller has to read a
// streaming list.
func (l *lister) paged(ctx context.Context, e *epoch) (all *list, err error) {
	for range listings {
		all, err = l.pagedOnce(ctx, e)
		if !isLost(err) {
			break
		}
		l.lane.log.Info("List's resourceVersion expired before the last page; listing again", zap.Error(err))
	}
	switch {
	case errors.Is(err, errFew):
		return nil, nil
	case errors.Is(err, wire.ErrUnaligned):
		l.stopPaging()
	case !isLost(err):
		return all, err
	}
	l.lane.log.Info("Failed to list objects and Table rows separately; listing them together", zap.Error(err))
	return nil, nil
}

func (l *lister) stopPaging() { l.unpaged = true }

// pagedOnce reads one listing. For freshness checks, the list counts as requested when its minimum version was read.
func (l *lister) pagedOnce(ctx context.Context, e *epoch) (*list, error) {
	p := l.listing(e, l.lane.client, e.rv)
	if err := p.firstRows(ctx); err != nil {
		return nil, err
	}
	if err := l.learnMarks(ctx, e); err != nil {
		return nil, err
	}
	objects, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	return newList(p.version, objects, e.asked)
}

// learnMarks opens a streaming list that matches no object. The bookmark at its end shows which fields bookmarks have,
// and that the upstream sends bookmarks.
func (l *lister) learnMarks(ctx context.Context, e *epoch) error {
	query := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"},
	}
	nothing := l.lane.Resource.EmptyListTarget()
	for name, values := range nothing.Query {
		query[name] = values
	}
	s, err := e.watchAt(ctx, nothing.Path, query, progressWatchSeconds)
	if err == nil {
		err = l.firstMark(e, s)
		s.close()
	}
	if isUnsupported(err) {
		l.streaming = false
	} else if !errors.Is(err, errEndless) {
		return err
	}
	l.lane.log.Info("Upstream sent no bookmark; sending bookmarks with minimal fields", zap.Error(err))
	l.lane.knowBookmark(e.shape)
	return nil
}

// firstMark reads the first frame of the stream, which must be the bookmark at the end of the initial events.
func (l *lister) firstMark(e *epoch, s *stream) error {
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
	l.lane.learnBookmark(e.listWatch, st.frame)
	return nil
}
