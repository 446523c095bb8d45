package reflector

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

const (
	mediaJSON  = "application/json"
	mediaTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// listWatch is how the upstream is asked in one epoch, and how its answers are read. Immutable.
type listWatch struct {
	client    *upstream.Client
	resource  upstream.Resource
	accept    string
	extractor *wire.Extractor
}

// lateEnd is how much longer than it was asked to a watch may last: then the connection is dead and nobody said so.
const lateEnd = 30 * time.Second

// watch opens a watch that lasts so many seconds.
func (l *listWatch) watch(ctx context.Context, query url.Values, seconds int) (*stream, error) {
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+lateEnd)
	target := upstream.Target{Path: l.resource.Path(""), Query: query}
	response, err := l.client.Open(ctx, target, l.accept) //nolint:bodyclose // the stream closes it
	if err != nil {
		cancel()
		return nil, err
	}
	frames := wire.NewFrameReader(response.Body, frameLimit)
	return &stream{listWatch: l, body: response.Body, frames: frames, cancel: cancel, ordered: true}, nil
}

// watchQuery asks for a plain watch from rv.
func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "includeObject": {"Object"}, "resourceVersion": {rv.String()},
	}
}

// newObject makes an object of a row; one that does not fit the resource is an error.
func newObject(e *wire.Extractor, r upstream.Resource, row wire.Row) (*cache.Object, error) {
	item, facts, err := e.Scan(row)
	if err != nil {
		return nil, err
	}
	rv, err := cache.ParseRV(facts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("object %s/%s: %w", facts.Namespace, facts.Name, err)
	}
	if facts.Name == "" || r.Namespaced != (facts.Namespace != "") {
		return nil, fmt.Errorf("object %q in namespace %q does not fit its resource's scope", facts.Name, facts.Namespace)
	}
	key := facts.Name
	if facts.Namespace != "" {
		key = facts.Namespace + "/" + facts.Name
	}
	labels := make(selectors.LabelSet, len(facts.Labels))
	for i, label := range facts.Labels {
		labels[i] = selectors.Label(label)
	}
	return &cache.Object{
		Key: key, RV: rv, Item: item,
		Attributes: selectors.Attributes{Namespace: facts.Namespace, Name: facts.Name, Labels: labels, Fields: facts.Fields},
	}, nil
}
