package protowire

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

//go:generate go test . -run TestNumbersAreThoseOfTheTypes -update

// What metadata consists of, and where it stands in objects of all kinds (k8s.io/apimachinery meta/v1).
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

// place is where a path of JSON leads to in the messages of one kind.
type location struct {
	value scalar
	// omitted: JSON leaves out the zero value, so here it counts as none.
	omitted bool
	steps   []step
}

// step goes into a field: of a repeated one, into its nth, counted from 1; nth is 0 of any other.
type step struct {
	number int32
	nth    int
}

// scalar is what a value is.
type scalar int

const (
	text scalar = iota
	boolean
	integer
)

// locationsOf finds the places of all alternatives of paths; false when there is one that has none.
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
