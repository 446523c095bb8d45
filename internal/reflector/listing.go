package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// firstPage is how many objects the first page of a listing holds, which tells how large they are.
	firstPage = 100
	// pageBytes is how large further pages are about, and maxPage how many objects they hold at most. A page of 500 pods,
	// client-go's measure, is 8 MB. Larger ones cost the upstream no less, and it takes a page for as wide as it is large.
	pageBytes = 8 << 20
	maxPage   = 5000
	// heldBytes bounds a page where the Config does not; one that is larger, because the objects in it are others than
	// those before, is asked for in smaller pages.
	heldBytes = 64 << 20
	// rowsPage is how many rows without their objects a page holds: of pods, 2 MB. Many pages of rows would cost the
	// upstream more than what is in them.
	rowsPage = 10_000
)

// listing reads a list of one resourceVersion page by page. One goroutine fetches pages while another reads the ones
// before, so that two pages of objects are in memory and no more.
type listing struct {
	client        *upstream.Client
	resource      upstream.Resource
	reader        wire.PageReader
	from          cache.RV          // the list is of this version or a later one
	held          int64             // bytes of a page at most, but for one that is a single object
	grew          func(bytes int64) // is told how many bytes the buffers of pages have grown by
	version       string            // of the list; empty before its first page
	rows, objects series
}

// series is one of the two series of pages of a listing.
type series struct {
	ask     *wire.Ask // nil: there are none
	limit   int       // how many the next page holds
	token   string    // of the next page
	covered int       // how many objects the pages so far are about
	done    bool      // the last page has come
}

// page is what a listing hands on at a time.
type page struct {
	rows    [][]byte // pages of rows, which come before the objects that they are beside
	objects *bytes.Buffer
	head    wire.ListHead // of the objects
}

func newListing(client *upstream.Client, resource upstream.Resource, pages wire.Pages, from cache.RV, held int64, grew func(int64)) *listing {
	return &listing{
		client: client, resource: resource, reader: pages.Reader, from: from, held: held, grew: grew,
		rows: series{ask: pages.Rows, limit: rowsPage, done: pages.Rows == nil}, objects: series{ask: &pages.Objects, limit: firstPage},
	}
}

// fetch hands pages on until the last one, each in one of the spare buffers.
func (l *listing) fetch(ctx context.Context, pages chan<- page, spare <-chan *bytes.Buffer) error {
	for !l.objects.done {
		var p page
		for !l.rows.done && l.rows.covered < l.objects.covered+l.objects.limit {
			var body bytes.Buffer
			if _, err := l.next(ctx, &l.rows, &body); err != nil {
				return err
			}
			p.rows = append(p.rows, body.Bytes())
		}
		select {
		case p.objects = <-spare:
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		before := p.objects.Cap()
		if p.head, err = l.next(ctx, &l.objects, p.objects); err != nil {
			return err
		}
		l.grew(int64(p.objects.Cap() - before))
		l.objects.limit = l.limitFor(p.objects.Len())
		select {
		case pages <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// limitFor is how many objects the next page holds, when the last one had so many bytes.
func (l *listing) limitFor(size int) int {
	return min(max(int(min(pageBytes, l.held/2))*l.objects.limit/max(size, 1), 1), maxPage)
}

// next asks for the next page of a series. One that is too large is asked for in parts.
func (l *listing) next(ctx context.Context, s *series, into *bytes.Buffer) (wire.ListHead, error) {
	var oversize *upstream.OversizeError
	err := l.get(ctx, s, into, l.held)
	for errors.As(err, &oversize) && s.limit > 1 {
		s.limit = max(s.limit/8, 1)
		err = l.get(ctx, s, into, l.held)
	}
	if errors.As(err, &oversize) {
		err = l.get(ctx, s, into, pageLimit) // one object
	}
	if err != nil {
		return wire.ListHead{}, err
	}
	head, err := l.reader.Head(into.Bytes())
	if err != nil {
		return head, fmt.Errorf("read a list: %w", err)
	}
	if l.version == "" {
		l.version = head.ResourceVersion
	}
	if head.ResourceVersion != l.version {
		return head, fmt.Errorf("read a list: its pages are of the resourceVersions %q and %q", l.version, head.ResourceVersion)
	}
	s.covered += s.limit
	s.token, s.done = head.Continue, head.Continue == ""
	return head, nil
}

// get asks for a page at the version of the list. The first page is as new as what was asked for before, which a watch
// cache that was asked then need not wait for.
func (l *listing) get(ctx context.Context, s *series, into *bytes.Buffer, limit int64) error {
	query := url.Values{"limit": {strconv.Itoa(s.limit)}}
	switch {
	case s.token != "":
		query.Set("continue", s.token)
	case l.version != "":
		query.Set("resourceVersion", l.version)
		query.Set("resourceVersionMatch", "Exact")
	default:
		query.Set("resourceVersion", l.from.String())
		query.Set("resourceVersionMatch", "NotOlderThan")
	}
	for name, value := range s.ask.Query {
		query.Set(name, value)
	}
	return l.client.GetInto(ctx, upstream.Target{Path: l.resource.Path(""), Query: query}, s.ask.Accept, limit, into)
}
