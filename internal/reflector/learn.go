package reflector

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// discovered contains the properties of a resource, from an empty list and from its definition.
type discovered struct {
	asked      time.Time // when the list was requested
	rv         cache.RV  // upstream's resourceVersion when the list was requested, or later
	style      jsonwire.Style
	definition definition
	warnings   []string
}

// epoch describes how the writer reads and represents the lane's objects until the next list.
type epoch struct {
	*listWatch
	discovered
	asks    []wire.RequestFormat // request formats that the upstream has not refused
	shape   wire.Shape
	columns []byte // columns of the Table of the list in progress; nil if there are none
}

func (e *epoch) setColumns(log *zap.Logger, raw []byte) {
	if len(raw) == 0 {
		return
	}
	e.columns = bytes.Clone(raw)
	printed, err := e.shape.WithColumns(raw)
	if err != nil {
		log.Warn("Failed to parse the upstream's Table columns", zap.Error(err))
		return
	}
	e.shape = printed
}

// learner reads the properties of a lane's resource for each epoch, and checks that they do not change.
type learner struct {
	lane        *lane
	definitions *definitions
	known       discovered // properties of the last epoch
}

func (l *learner) discover(ctx context.Context) (discovered, error) {
	asked := time.Now()
	list, err := l.lane.client.EmptyList(ctx, l.lane.Resource)
	if err != nil {
		return discovered{}, err
	}
	d := discovered{asked: asked, style: list.Style, warnings: list.Warnings}
	if d.rv, err = cache.ParseRV(list.ResourceVersion); err != nil || !d.style.Custom {
		return d, err
	}
	d.definition, err = define(ctx, l.lane.client, l.lane.Resource)
	if upstream.HasCode(err, http.StatusNotFound) || upstream.HasCode(err, http.StatusForbidden) &&
		l.known.definition.uid == "" {
		return d, nil // the definition is empty, and reads that need it are forwarded
	}
	return d, err
}

func (d discovered) sameAs(before discovered) bool {
	return d.style == before.style && d.definition.representsAs(before.definition)
}

// learn reads the properties of the resource and begins an epoch. The lane keeps the kind of its first epoch.
func (l *learner) learn(ctx context.Context) (*epoch, error) {
	discover, lane := l.settle, l.lane
	if lane.Kind() != nil {
		discover = l.discover // if the definition has changed, the lane ends, so there is no need to wait
	}
	d, err := discover(ctx)
	if err != nil {
		return nil, err
	}
	if lane.Kind() != nil && !d.sameAs(l.known) {
		return nil, errRedefined
	}
	if custom := lane.Resource.Custom; d.style.Custom != custom {
		return nil, fmt.Errorf("%w: discovery reports custom resource: %t, but the style of its lists shows the opposite", errRedefined, custom)
	}
	l.known = d
	lane.warnings.Store(&d.warnings)
	if d.style.Custom {
		lane.definition.Store(&d.definition)
	}
	lane.undefined.Store(d.style.Custom && d.definition.uid == "")
	if lane.Kind() == nil {
		lane.kind.Store(kindOf(lane.Resource, d.definition))
		lane.announce()
	}
	asks := lane.Encoding.RequestFormats()
	by := lane.newListWatch(d, asks[0])
	return &epoch{listWatch: by, discovered: d, asks: asks, shape: lane.Encoding.Shape(by.about)}, nil
}

func (l *lane) newListWatch(d discovered, ask wire.RequestFormat) *listWatch {
	kind, about := l.Kind(), wire.Description{
		Resource: l.Resource.GVR, Kind: l.Resource.GVK, ListKind: d.style.ListKind, Custom: d.style.Custom,
		DatePaths: d.definition.datePaths,
	}
	return &listWatch{
		client: l.client, resource: l.Resource, kind: kind, about: about, defined: d.definition,
		framing: l.Encoding.Framing(), ask: ask, reader: l.Encoding.Reader(about, ask, pathsOf(kind)),
	}
}

// verify checks, before a watch is resumed, that the upstream has reached rv and that the definition is unchanged.
// kube-apiserver ends watches when a custom resource is redefined or etcd is restored. However, it accepts a new watch
// from a version that it has not reached (semantics 4.1).
func (l *learner) verify(ctx context.Context, rv cache.RV) error {
	d, err := l.discover(ctx)
	switch {
	case err != nil:
		return err
	case !d.sameAs(l.known):
		return errRedefined
	case d.rv < rv:
		return fmt.Errorf("%w: upstream at %d, lane at %d", errRestored, d.rv, rv)
	}
	l.lane.warnings.Store(&d.warnings)
	return nil
}
