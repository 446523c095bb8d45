package upstream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// pageObjects is how many objects one page of a paginated list holds: 500 pods are 8 MB.
	pageObjects = 500
	// pageLimit bounds a page in bytes.
	pageLimit = 1 << 30
	// maxRetryAfter bounds what an upstream may ask us to wait.
	maxRetryAfter = 30 * time.Second
)

// sync fills the lane with the upstream's state of now and publishes it as a new epoch. It returns the watch that goes on
// from there, or nil when none is open yet.
func (r *reader) sync(ctx context.Context) (*stream, error) {
	for {
		open, err := r.syncOnce(ctx)
		if !hasCode(err, http.StatusNotAcceptable) || r.accept == mediaJSON {
			return open, err
		}
		r.log.Info("the upstream does not print this resource as a Table; reading plain objects")
		r.accept = mediaJSON
	}
}

func (r *reader) syncOnce(ctx context.Context) (*stream, error) {
	if r.streaming {
		open, err := r.stream(ctx)
		if !hasCode(err, http.StatusBadRequest, http.StatusUnprocessableEntity) {
			return open, err
		}
		r.streaming = false
		r.log.Info("the upstream refuses streaming lists; listing page by page", zap.Error(err))
	}
	return nil, r.pages(ctx)
}

// stream reads a streaming list (KEP-3157): each object arrives in a frame of its own and the annotated bookmark ends the
// initial state; the same stream then goes on as the watch.
func (r *reader) stream(ctx context.Context) (*stream, error) {
	query := url.Values{
		"watch": {"1"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"},
		"includeObject": {"Object"}, "timeoutSeconds": {"600"},
	}
	s, err := r.client.watch(ctx, r.lane.Resource, query, r.accept, r.extractor)
	if err != nil {
		return nil, err
	}
	objects := map[string]*cache.Object{}
	for {
		st, err := s.next()
		if err != nil {
			s.close()
			return nil, err
		}
		if st.columns != nil {
			r.setColumns(st.columns)
		}
		switch {
		case st.kind == stepInitialEnd:
			r.learnBookmark(st.frame)
			r.publish(st.rv, slices.Collect(maps.Values(objects)))
			return s, nil
		case st.kind == stepChange && st.change.Kind == cache.Delete:
			delete(objects, st.change.Object.Key)
		case st.kind == stepChange:
			objects[st.change.Object.Key] = st.change.Object
		}
	}
}

// pages reads a paginated list, for an upstream without streaming lists.
func (r *reader) pages(ctx context.Context) error {
	var objects []*cache.Object
	token, first := "", ""
	for {
		query := url.Values{"limit": {strconv.Itoa(pageObjects)}, "includeObject": {"Object"}}
		if token != "" {
			query.Set("continue", token)
		}
		body, err := r.client.read(ctx, target{path: collectionPath(r.lane.Resource.GVR, ""), query: query}, r.accept, pageLimit)
		if err != nil {
			return err
		}
		list, err := wire.SplitList(body, func(row wire.Row) error {
			o, err := r.listed(row)
			objects = append(objects, o)
			return err
		})
		if err != nil {
			return err
		}
		if first == "" {
			first = list.ResourceVersion
			r.setColumns(list.Columns)
		}
		if token = list.Continue; token == "" {
			break
		}
	}
	rv, err := cache.ParseRV(first)
	if err != nil {
		return err
	}
	r.lane.bookmark.Store(&Bookmark{Template: r.plainBookmark()})
	r.publish(rv, objects)
	return nil
}

// listed makes an object of a list's item, which in built-in style comes without its type meta when the list is plain.
func (r *reader) listed(row wire.Row) (*cache.Object, error) {
	if r.accept == mediaJSON && !r.shape.Custom {
		row.Object = r.shape.WithTypeMeta(row.Object)
	}
	return newObject(r.extractor, r.lane.Resource.Scope, row)
}

func (r *reader) setColumns(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if err := r.shape.SetColumns(raw); err != nil {
		r.log.Warn("the upstream's Table columns are not understood", zap.Error(err))
		return
	}
	var datePaths []string // nil: printed by kube-apiserver's own printers
	if r.shape.Custom {
		datePaths = r.define.columnPaths(r.shape.Columns)
	}
	gvr := r.lane.Resource.GVR
	r.shape.Ages = wire.AgesFor(gvr.Group, gvr.Resource, r.shape.Columns, datePaths)
}

func (r *reader) publish(rv cache.RV, objects []*cache.Object) {
	shape := r.shape
	r.lane.Cache.Replace(rv, &shape, objects)
}

// retryAfter is what the upstream asked us to wait, at most 30 s; 0 when it did not.
func retryAfter(err error) time.Duration {
	var status *StatusError
	if !errors.As(err, &status) {
		return 0
	}
	seconds, err := strconv.Atoi(status.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
