package reflector

import (
	"context"
	"fmt"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// discovered is what an empty list and the definition tell about a resource.
type discovered struct {
	rv         cache.RV // the upstream's
	listed     wire.Shape
	definition definition
	warnings   []string
}

// discover asks what lists of the resource look like and which fields select.
func (w *writer) discover(ctx context.Context) (discovered, error) {
	list, err := w.client.EmptyList(ctx, w.reflector.Resource)
	if err != nil {
		return discovered{}, err
	}
	d := discovered{listed: list.Shape, warnings: list.Warnings}
	if d.rv, err = cache.ParseRV(list.ResourceVersion); err != nil || !d.listed.Custom {
		return d, err
	}
	d.definition, err = define(ctx, w.client, w.reflector.Resource)
	return d, err
}

// sameAs tells whether what the lane was made for still holds.
func (d discovered) sameAs(before discovered) bool {
	return d.listed.Custom == before.listed.Custom && d.listed.ListKind == before.listed.ListKind &&
		d.definition.uid == before.definition.uid && d.definition.generation == before.definition.generation
}

// learn prepares an epoch. What the first one learned of the kind holds as long as the lane.
func (w *writer) learn(ctx context.Context) error {
	d, err := w.discover(ctx)
	if err != nil {
		return err
	}
	if w.reflector.Kind() != nil && !d.sameAs(w.discovered) {
		return errRedefined
	}
	if custom := w.reflector.Resource.Custom; d.listed.Custom != custom {
		return fmt.Errorf("%w: it was taken for custom: %t", errRedefined, custom)
	}
	w.discovered, w.shape = d, d.listed
	w.reflector.warnings.Store(&d.warnings)
	gvr, gvk := w.reflector.Resource.GVR, w.reflector.Resource.GVK
	w.shape.Kind, w.shape.APIVersion = gvk.Kind, gvk.GroupVersion().String()
	w.shape.Invented = wire.InventedAnnotations(gvr.Group, gvr.Version, gvr.Resource)
	if w.reflector.Kind() == nil {
		w.reflector.kind.Store(kindOf(w.reflector.Resource, d.definition))
		w.reflector.announce()
	}
	w.listWatch.Store(&listWatch{
		client: w.client, resource: w.reflector.Resource, accept: mediaTable, extractor: wire.NewExtractor(pathsOf(w.reflector.Kind())),
	})
	return nil
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
