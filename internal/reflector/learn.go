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

// discovered is what an empty list and the definition tell about a resource.
type discovered struct {
	asked      time.Time      // when
	rv         cache.RV       // the upstream's, of that moment or later
	style      jsonwire.Style // of its lists
	definition definition
	warnings   []string
}

// discover asks what lists of the resource look like and which fields select.
func (w *writer) discover(ctx context.Context) (discovered, error) {
	asked := time.Now()
	list, err := w.client.EmptyList(ctx, w.reflector.Resource)
	if err != nil {
		return discovered{}, err
	}
	d := discovered{asked: asked, style: list.Style, warnings: list.Warnings}
	if d.rv, err = cache.ParseRV(list.ResourceVersion); err != nil || !d.style.Custom {
		return d, err
	}
	d.definition, err = define(ctx, w.client, w.reflector.Resource)
	if upstream.HasCode(err, http.StatusNotFound) || upstream.HasCode(err, http.StatusForbidden) && w.discovered.definition.uid == "" {
		return d, nil // who never may read CRDs does with an empty definition: reads that need more are passed through
	}
	return d, err
}

// sameAs tells whether what the lane was made for still holds.
func (d discovered) sameAs(before discovered) bool {
	return d.style == before.style && d.definition.representsAs(before.definition)
}

// learn prepares an epoch. What the first one learned of the kind holds as long as the lane.
func (w *writer) learn(ctx context.Context) error {
	discover := w.settle
	if w.reflector.Kind() != nil {
		discover = w.discover // what was settled when the lane was made, or it ends
	}
	d, err := discover(ctx)
	if err != nil {
		return err
	}
	if w.reflector.Kind() != nil && !d.sameAs(w.discovered) {
		return errRedefined
	}
	if custom := w.reflector.Resource.Custom; d.style.Custom != custom {
		return fmt.Errorf("%w: it was taken for custom: %t", errRedefined, custom)
	}
	w.discovered = d
	w.reflector.warnings.Store(&d.warnings)
	if d.style.Custom {
		w.reflector.definition.Store(&d.definition)
	}
	w.reflector.undefined.Store(d.style.Custom && d.definition.uid == "")
	if w.reflector.Kind() == nil {
		w.reflector.kind.Store(kindOf(w.reflector.Resource, d.definition))
		w.reflector.announce()
	}
	encoding := w.reflector.Encoding
	w.shape, w.asks, w.columns = encoding.Shape(w.description()), encoding.Asks(), nil
	w.listWatch.Store(w.newListWatch())
	return nil
}

// description is what the lane's encoding has to know of the resource.
func (w *writer) description() wire.Description {
	return wire.Description{
		Resource: w.reflector.Resource.GVR, Kind: w.reflector.Resource.GVK, ListKind: w.discovered.style.ListKind,
		Custom: w.discovered.style.Custom, DatePaths: w.discovered.definition.datePaths,
	}
}

// newListWatch asks in the best of the ways that are left.
func (w *writer) newListWatch() *listWatch {
	encoding, ask, kind := w.reflector.Encoding, w.asks[0], w.reflector.Kind()
	return &listWatch{
		client: w.client, resource: w.reflector.Resource, kind: kind, about: w.description(), defined: w.discovered.definition, framing: encoding.Framing(), ask: ask,
		reader: encoding.Reader(w.description(), ask, pathsOf(kind)),
	}
}

// verify asks, before a watch is resumed, whether the resourceVersion that readers see still means what it meant:
// watches end when a custom resource is redefined and when the upstream's etcd is set back, and kube-apiserver resumes
// them all the same, at versions that it has not reached (semantics 4.1).
func (w *writer) verify(ctx context.Context, rv cache.RV) error {
	d, err := w.discover(ctx)
	switch {
	case err != nil:
		return err
	case !d.sameAs(w.discovered):
		return errRedefined
	case d.rv < rv:
		return fmt.Errorf("%w: %d, the lane is at %d", errRestored, d.rv, rv)
	}
	w.reflector.warnings.Store(&d.warnings)
	return nil
}
