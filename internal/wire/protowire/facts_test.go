package protowire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// wirePaths returns the selectable fields of a kind as a lane passes them.
func wirePaths(kind schema.GroupVersionKind) []wire.Path {
	var paths []wire.Path
	for _, field := range selectors.ForBuiltin(kind, selectors.Namespaced).Fields() {
		paths = append(paths, wire.Path{Alternatives: field.Paths, Default: field.Default})
	}
	return paths
}

// Facts do not depend on the encoding of an object.
func TestFactsEqualThoseOfJSON(t *testing.T) {
	for _, kind := range selectors.FieldKinds() {
		if gone[kind] {
			continue
		}
		g := newGolden(t, kind, 40)
		paths := wirePaths(kind)
		extractor, seen := jsonwire.NewExtractor(paths), make([]bool, len(paths))
		for i, object := range g.objects {
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			_, want, err := extractor.Scan(jsonwire.Row{Object: text})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, g.facts[i]); diff != "" {
				t.Errorf("%s (-JSON +protobuf): %s\n%s", kind, diff, text)
			}
			for field, value := range g.facts[i].Fields {
				seen[field] = seen[field] || value != paths[field].Default
			}
		}
		for field := range paths {
			if !seen[field] {
				t.Errorf("%s: no object has %s", kind, paths[field].Alternatives)
			}
		}
	}
}
