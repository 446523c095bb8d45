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

// listWatch contains the parameters of all lists and watches in one epoch. Immutable.
type listWatch struct {
	client   *upstream.Client
	resource upstream.Resource
	kind     *selectors.Kind
	about    wire.Description
	defined  definition // definition of a custom resource
	framing  wire.Framing
	ask      wire.RequestFormat
	reader   wire.Reader
}

// target adds the query parameters of the encoding to a request.
func (l *listWatch) target(path string, query url.Values) upstream.Target {
	for name, value := range l.ask.Query {
		query.Set(name, value)
	}
	return upstream.Target{Path: path, Query: query}
}

// lateEnd is how long a watch may last beyond its timeout. After that, the connection counts as dead.
const lateEnd = 30 * time.Second

// watch opens a watch with a timeout in seconds.
func (l *listWatch) watch(ctx context.Context, query url.Values, seconds int) (*stream, error) {
	return l.watchAt(ctx, l.resource.Path(""), query, seconds)
}

func (l *listWatch) watchAt(ctx context.Context, path string, query url.Values, seconds int) (*stream, error) {
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	ctx, cancel := context.WithDeadline(ctx, until.Add(lateEnd))
	response, err := l.client.Open(ctx, l.target(path, query), l.ask.Accept) //nolint:bodyclose // the stream closes it
	if err != nil {
		cancel()
		return nil, err
	}
	frames := l.framing.Reader(response.Body, wire.FrameLimit)
	return &stream{listWatch: l, body: response.Body, frames: frames, cancel: cancel, ordered: true, until: until}, nil
}

func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {rv.String()},
	}
}

func (l *listWatch) newObject(item wire.Item, facts *wire.Facts) (*cache.Object, error) {
	return objectOf(l.resource, l.kind, item, facts)
}

func objectOf(r upstream.Resource, kind *selectors.Kind, item wire.Item, facts *wire.Facts) (*cache.Object, error) {
	rv, err := cache.ParseRV(facts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("object %s/%s: %w", facts.Namespace, facts.Name, err)
	}
	if facts.Name == "" || r.Namespaced != (facts.Namespace != "") {
		return nil, fmt.Errorf("object %q in namespace %q has no name or a wrong scope", facts.Name, facts.Namespace)
	}
	labels := make([]selectors.Label, len(facts.Labels))
	for i, label := range facts.Labels {
		labels[i] = selectors.Label(label)
	}
	attributes := kind.Attributes(
		selectors.Identity{Namespace: facts.Namespace, Name: facts.Name, UID: facts.UID}, labels, facts.Fields)
	return cache.NewObject(attributes, rv, item), nil
}
