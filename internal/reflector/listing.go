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
	// firstPage is the number of objects in the first page. The size of the first page in bytes decides how many objects
	// the next pages have.
	firstPage = 100
	// pageBytes is the approximate size of the next pages, and maxPage their maximum number of objects. Larger pages need
	// more seats in priority and fairness, and do not save work.
	pageBytes = 8 << 20
	maxPage   = 5000
	// heldBytes is the default of Config.PageBytes. A larger page is requested again in smaller parts.
	heldBytes = 64 << 20
	// rowsPage is the number of rows in a page of rows without objects; for pods, such a page is 2 MB. In small pages, the
	// cost of each request would exceed the cost of the rows.
	rowsPage = 10_000
)

// listing reads a list of one resourceVersion page by page. One goroutine fetches the next page while another reads the
// previous one. At most two responses with objects are in memory.
type listing struct {
	lane          *lane
	quota         *quota
	epoch         *epoch
	client        *upstream.Client // client of the upstream or a peer
	reader        wire.PageReader
	pagedFrom     int      // minimum number of objects to list by pages
	from          cache.RV // minimum version of the list
	held          int64    // maximum size of a page in bytes, unless it is a single object
	version       string   // version of the list; empty before its first page
	rows, objects series
}

// series is the progress of one kind of pages: pages of rows, or pages of objects.
type series struct {
	ask     *wire.RequestFormat // request format of the pages; nil if the series is empty
	limit   int                 // number of objects in the next page
	token   string
	covered int // number of objects requested so far
	done    bool
}

type page struct {
	rows    [][]byte // pages of rows, which precede the objects that they describe
	objects *bytes.Buffer
	head    wire.ListHead
}

// listing returns a listing; at is its minimum version. The memory of its pages counts as memory of the lane.
func (l *lister) listing(e *epoch, from *upstream.Client, at cache.RV) *listing {
	l.lane.fill.pages.Store(0)
	pages := l.lane.Encoding.Pages(e.about, e.ask, pathsOf(e.kind))
	return &listing{
		lane: l.lane, quota: l.quota, epoch: e, client: from, reader: pages.Reader, pagedFrom: l.pagedFrom, from: at,
		held: l.pageBytes, rows: series{ask: pages.Rows, limit: rowsPage, done: pages.Rows == nil},
		objects: series{ask: &pages.Objects, limit: firstPage},
	}
}

// fetch passes pages to the channel until the last one. The objects of a page are in a buffer from spareBuffers.
func (l *listing) fetch(ctx context.Context, pages chan<- page, spareBuffers <-chan *bytes.Buffer) error {
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
		case p.objects = <-spareBuffers:
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		before := p.objects.Cap()
		if p.head, err = l.next(ctx, &l.objects, p.objects); err != nil {
			return err
		}
		l.lane.fill.pages.Add(int64(p.objects.Cap() - before))
		l.objects.limit = l.limitFor(p.objects.Len())
		select {
		case pages <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *listing) limitFor(size int) int {
	return min(max(int(min(pageBytes, l.held/2))*l.objects.limit/max(size, 1), 1), maxPage)
}

// next requests the next page of a series. A page that is too large is requested again with fewer objects.
func (l *listing) next(ctx context.Context, s *series, into *bytes.Buffer) (wire.ListHead, error) {
	var oversize *upstream.OversizeError
	err := l.get(ctx, s, into, l.held)
	for errors.As(err, &oversize) && s.limit > 1 {
		s.limit = max(s.limit/8, 1)
		err = l.get(ctx, s, into, l.held)
	}
	if errors.As(err, &oversize) {
		err = l.get(ctx, s, into, pageLimit) // the page is a single object
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
		return head, fmt.Errorf("read a list: pages have the resourceVersions %q and %q", l.version, head.ResourceVersion)
	}
	s.covered += s.limit
	s.token, s.done = head.Continue, head.Continue == ""
	return head, nil
}

// get requests a page. The first page of the list may be at l.from or at a later version. The server has sent l.from
// before, so its watch cache does not wait.
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
	return l.client.GetInto(ctx, upstream.Target{Path: l.lane.Resource.Path(""), Query: query}, s.ask.Accept, limit, into)
}

// firstRows reads the first page of rows. It returns errFew if the resource has too few objects for pages.
func (l *listing) firstRows(ctx context.Context) error {
	if l.rows.done {
		return nil // the resource has no rows
	}
	var body bytes.Buffer
	head, err := l.next(ctx, &l.rows, &body)
	if err != nil {
		return err
	}
	if err := l.takeRows(body.Bytes()); err != nil {
		return err
	}
	l.lane.fill.expected.Store(int64(l.reader.Rest()) + head.Remaining)
	if head.Continue == "" && l.reader.Rest() < l.pagedFrom {
		return errFew
	}
	return nil
}

func (l *listing) takeRows(body []byte) error {
	head, err := l.reader.Rows(body)
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	l.epoch.setColumns(l.lane.log, head.Columns)
	return nil
}

// read reads the pages while a goroutine fetches the next ones. The goroutine has ended when read returns.
func (l *listing) read(ctx context.Context) (map[string]*cache.Object, error) {
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
	add := l.quota.adder(l.epoch.listWatch, objects, l.lane.Cache.Fill())
	for p := range pages {
		before := len(objects)
		if err := l.readPage(p, add); err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		if p.head.Continue != "" && len(objects) == before {
			return nil, errors.New("read a list: an empty page has a continue token")
		}
		l.lane.fill.noteExpected(int64(len(objects)) + p.head.Remaining)
		spareBuffers <- p.objects
	}
	err := <-failed
	if err == nil && l.reader.Rest() > 0 {
		err = fmt.Errorf("%w: %d rows without an object", wire.ErrUnaligned, l.reader.Rest())
	}
	return objects, err
}

func (l *listing) readPage(p page, add func(wire.Item, wire.Facts) error) error {
	for _, rows := range p.rows {
		if err := l.takeRows(rows); err != nil {
			return err
		}
	}
	head, err := l.reader.Objects(p.objects.Bytes(), add)
	if err == nil && (head.Continue != p.head.Continue || head.ResourceVersion != p.head.ResourceVersion) {
		err = errors.New("two scans of a page found different list metadata")
	}
	return err
}
