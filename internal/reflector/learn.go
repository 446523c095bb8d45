package reflector

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// discovered contains the properties of a resource, from an empty list and from its definition.
type discovered struct {
	asked      time.Time      // when the list was requested
	rv         cache.RV       // upstream's resourceVersion when the list was requested, or later
	style      jsonwire.Style // style of the resource's lists
	definition definition
	warnings   []string
}

// discover reads the style of the resource's lists and the fields that can be selected.
func (w *writer) discover(ctx context.Context) (discovered, error) {
	asked := time.Now()
	list, err := w.lane.client.EmptyList(ctx, w.lane.Resource)
	if err != nil {
		return discovered{}, err
	}
	d := discovered{asked: asked, style: list.Style, warnings: list.Warnings}
	if d.rv, err = cache.ParseRV(list.ResourceVersion); err != nil || !d.style.Custom {
		return d, err
	}
	d.definition, err = define(ctx, w.lane.client, w.lane.Resource)
	if upstream.HasCode(err, http.StatusNotFound) || upstream.HasCode(err, http.StatusForbidden) &&
		w.discovered.definition.uid == "" {
		return d, nil // without permission to read CRDs the definition is empty, and reads that need it are forwarded
	}
	return d, err
}

// sameAs reports whether the lane's kind and representation are unchanged.
func (d discovered) sameAs(before discovered) bool {
	return d.style == before.style && d.definition.representsAs(before.definition)
}

// learn reads the properties of the resource for a new epoch. The kind that the first epoch read is used for the
// lifetime of the lane.
func (w *writer) learn(ctx context.Context) error {
	discover := w.settle
	if w.lane.Kind() != nil {
		discover = w.discover // if the definition has changed, the lane ends, so there is no need to wait
	}
	d, err := discover(ctx)
	if err != nil {
		return err
	}
	if w.lane.Kind() != nil && !d.sameAs(w.discovered) {
		return errRedefined
	}
	if custom := w.lane.Resource.Custom; d.style.Custom != custom {
		return fmt.Errorf("%w: expected a custom resource: %t", errRedefined, custom)
	}
	w.discovered = d
	w.lane.warnings.Store(&d.warnings)
	if d.style.Custom {
		w.lane.definition.Store(&d.definition)
	}
	w.lane.undefined.Store(d.style.Custom && d.definition.uid == "")
	if w.lane.Kind() == nil {
		w.lane.kind.Store(kindOf(w.lane.Resource, d.definition))
		w.lane.announce()
	}
	encoding := w.lane.Encoding
	w.shape, w.asks, w.columns = encoding.Shape(w.description()), encoding.Asks(), nil
	w.listWatch = w.newListWatch()
	return nil
}

// description returns the properties of the resource that the lane's encoding needs.
func (w *writer) description() wire.Description {
	return wire.Description{
		Resource: w.lane.Resource.GVR, Kind: w.lane.Resource.GVK, ListKind: w.discovered.style.ListKind,
		Custom: w.discovered.style.Custom, DatePaths: w.discovered.definition.datePaths,
	}
}

// newListWatch returns a listWatch with the first Accept header that the upstream has not refused.
func (w *writer) newListWatch() *listWatch {
	encoding, ask, kind := w.lane.Encoding, w.asks[0], w.lane.Kind()
	return &listWatch{
		client: w.lane.client, resource: w.lane.Resource, kind: kind, about: w.description(),
		defined: w.discovered.definition, framing: encoding.Framing(), ask: ask,
		reader: encoding.Reader(w.description(), ask, pathsOf(kind)),
	}
}

// verify checks, before a watch is resumed, that the upstream has reached rv and that the definition is unchanged.
// kube-apiserver ends watches when a custom resource is redefined or etcd is restored. However, it accepts a new watch
// from a version that it has not reached (semantics 4.1).
func (w *writer) verify(ctx context.Context, rv cache.RV) error {
	d, err := w.discover(ctx)
	switch {
	case err != nil:
		return err
	case !d.sameAs(w.discovered):
		return errRedefined
	case d.rv < rv:
		return fmt.Errorf("%w: upstream at %d, lane at %d", errRestored, d.rv, rv)
	}
	w.lane.warnings.Store(&d.warnings)
	return nil
}
