package protowire

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

//go:generate go test . -run TestNumbersMatchGoTypes -update

// Field numbers of metadata in an object, of ObjectMeta (k8s.io/apimachinery meta/v1), and of an entry of a map.
const (
	objectMetadata int32 = 1

	metaName        int32 = 1
	metaNamespace   int32 = 3
	metaUID         int32 = 5
	metaVersion     int32 = 6
	metaLabels      int32 = 11
	metaAnnotations int32 = 12

	entryKey   int32 = 1
	entryValue int32 = 2
)

// location is the location of a JSON path in the messages of one kind.
type location struct {
	value scalar
	// omitted is true if JSON omits the zero value.
	omitted bool
	steps   []step
}

// step selects a field. In a repeated field it selects the nth element, counted from 1. For other fields, nth is 0.
type step struct {
	number int32
	nth    int
}

type scalar int

const (
	text scalar = iota
	boolean
	integer
)

// locationsOf returns the locations of all alternatives of paths. It returns false if a location is unknown.
func locationsOf(kind schema.GroupVersionKind, paths []wire.Path) (map[string]location, bool) {
	known, found := numbers[kind], map[string]location{}
	for _, path := range paths {
		for _, alternative := range path.Alternatives {
			at, ok := known[alternative]
			if !ok {
				return nil, false
			}
			found[alternative] = at
		}
	}
	return found, true
}
