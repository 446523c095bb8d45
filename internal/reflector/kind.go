package reflector

import (
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

func kindOf(r upstream.Resource, d definition) *selectors.Kind {
	if r.Custom {
		return selectors.ForCustom(r.GVK, scopeOf(r), d.selectable)
	}
	return selectors.ForBuiltin(r.GVK, scopeOf(r))
}

// Offers reports whether a resource can have a lane in an encoding. It ignores the selectable fields of a custom
// resource, because they are unknown before the resource has a lane.
func Offers(r upstream.Resource, e wire.Encoding) bool {
	return e.Covers(wire.Description{Resource: r.GVR, Kind: r.GVK, Custom: r.Custom}, pathsOf(kindOf(r, definition{})))
}

func scopeOf(r upstream.Resource) selectors.Scope {
	if r.Namespaced {
		return selectors.Namespaced
	}
	return selectors.Cluster
}

func pathsOf(kind *selectors.Kind) []wire.Path {
	fields := kind.Fields()
	paths := make([]wire.Path, len(fields))
	for i, field := range fields {
		paths[i] = wire.Path{Alternatives: field.Paths, Default: field.Default}
	}
	return paths
}
