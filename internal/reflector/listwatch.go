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

// listWatch is how the upstream is asked in one epoch, and how its answers are read. Immutable.
type listWatch struct {
	client   *upstream.Client
	resource upstream.Resource
	kind     *selectors.Kind  // of the resource
	about    wire.Description // of it
	defined  definition       // of a custom resource
	framing  wire.Framing
	ask      wire.Ask
	reader   wire.Reader
}

// target is what is at a path, asked for as the encoding wants it.
func (l *listWatch) target(path string, query url.Values) upstream.Target {
	for name, value := range l.ask.Query {
		query.Set(name, value)
	}
	return upstream.Target{Path: path, Query: query}
}

// lateEnd is how much longer than it was asked to a watch may last: then the connection is dead and nobody said so.
const lateEnd = 30 * time.Second

// watch opens a watch that lasts so many seconds.
func (l *listWatch) watch(ctx context.Context, query url.Values, seconds int) (*stream, error) {
	return l.watchAt(ctx, l.resource.Path(""), query, seconds)
}

// watchAt is watch of what is at a path.
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

// watchQuery asks for a plain watch from rv.
func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {rv.String()},
	}
}

// newObject makes an object of what was read; one that does not fit the resource is an error.
func (l *listWatch) newObject(item wire.Item, facts *wire.Facts) (*cache.Object, error) {
	rv, err := cache.ParseRV(facts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("object %s/%s: %w", facts.Namespace, facts.Name, err)
	}
	if facts.Name == "" || l.resource.Namespaced != (facts.Namespace != "") {
		return nil, fmt.Errorf("object %q in namespace %q does not fit its resource's scope", facts.Name, facts.Namespace)
	}
	labels := make([]selectors.Label, len(facts.Labels))
	for i, label := range facts.Labels {
		labels[i] = selectors.Label(label)
	}
	attributes := l.kind.Attributes(facts.Namespace, facts.Name, labels, facts.Fields)
	return cache.NewObject(attributes, rv, item), nil
}
