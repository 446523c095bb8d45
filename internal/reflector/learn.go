package reflector

import (
	"context"
	"errors"
	"fmt"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

var (
	// errRedefined says that the resource is not what the lane was made for. A lane's kind, which requests are parsed with,
	// does not change under them: the lane ends, and the next request starts another.
	errRedefined = errors.New("the resource is defined in another way than before")
	// errReprinted says that the Tables of the resource have other columns than before.
	errReprinted = errors.New("the resource is printed with other columns than before")
	// errRestored says that the upstream is behind what it has said before: its etcd came back from a backup.
	errRestored = errors.New("the upstream is at an earlier resourceVersion than before")
)

// lesson is what one question tells about a resource, without any object of it.
type lesson struct {
	rv       cache.RV // the upstream's
	listed   wire.Shape
	define   definition
	warnings []string
}

// study asks what lists of the resource look like and which fields select.
func (r *reader) study(ctx context.Context) (lesson, error) {
	list, err := r.client.EmptyList(ctx, r.lane.Resource)
	if err != nil {
		return lesson{}, err
	}
	l := lesson{listed: list.Shape, warnings: list.Warnings}
	if l.rv, err = cache.ParseRV(list.ResourceVersion); err != nil || !l.listed.Custom {
		return l, err
	}
	l.define, err = define(ctx, r.client, r.lane.Resource)
	return l, err
}

// sameAs tells whether what the lane was made for still holds.
func (l lesson) sameAs(before lesson) bool {
	return l.listed.Custom == before.listed.Custom && l.listed.ListKind == before.listed.ListKind &&
		l.define.uid == before.define.uid && l.define.generation == before.define.generation
}

// learn prepares an epoch. What the first one learned holds as long as the lane.
func (r *reader) learn(ctx context.Context) error {
	l, err := r.study(ctx)
	if err != nil {
		return err
	}
	if r.lane.Kind() != nil && !l.sameAs(r.lesson) {
		return errRedefined
	}
	r.lesson, r.shape = l, l.listed
	r.lane.warnings.Store(&l.warnings)
	gvr, gvk := r.lane.Resource.GVR, r.lane.Resource.GVK
	r.shape.Kind, r.shape.APIVersion = gvk.Kind, gvk.GroupVersion().String()
	r.shape.Invented = wire.InventedAnnotations(gvr.Group, gvr.Version, gvr.Resource)
	if r.lane.Kind() == nil {
		r.lane.kind.Store(kindOf(r.lane.Resource, &r.shape, l.define))
		r.lane.announce()
	}
	r.dialect.Store(&dialect{
		client: r.client, resource: r.lane.Resource, accept: mediaTable, extractor: wire.NewExtractor(pathsOf(r.lane.Kind())),
	})
	return nil
}

// verify asks, before a watch is resumed, whether the resourceVersion that readers see still means what it meant: watches end
// when a custom resource is redefined and when the upstream's etcd is set back, and kube-apiserver resumes them all the
// same, at versions that it has not reached (semantics 4.1).
func (r *reader) verify(ctx context.Context, rv cache.RV) error {
	l, err := r.study(ctx)
	switch {
	case err != nil:
		return err
	case !l.sameAs(r.lesson):
		return errRedefined
	case l.rv < rv:
		return fmt.Errorf("%w: %d, the lane is at %d", errRestored, l.rv, rv)
	}
	r.lane.warnings.Store(&l.warnings)
	return nil
}

func pathsOf(kind *selectors.Kind) []wire.Path {
	fields := kind.Fields()
	paths := make([]wire.Path, len(fields))
	for i, field := range fields {
		paths[i] = wire.Path{Alternatives: field.Paths, Default: field.Default}
	}
	return paths
}
