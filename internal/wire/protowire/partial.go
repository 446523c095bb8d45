package protowire

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// partialMetadata is the field of PartialObjectMetadata, its only one.
const partialMetadata int32 = 1

// partialOf is the metadata of an item's PartialObjectMetadata: without the annotations that kube-apiserver leaves out
// of it (wire.ConversionAnnotations). It may alias what is open.
func (s *Shape) partialOf(open *item.Opened) []byte {
	whole := metadata(open)
	if len(s.converted) == 0 {
		return whole
	}
	left, from := []byte(nil), 0
	for at := (scanner{data: whole}); at.more(); {
		f, err := at.next()
		if err != nil {
			panic("BUG: metadata that was scanned before is malformed: " + err.Error())
		}
		if f.number != metaAnnotations || !s.isConverted(&at, f) {
			continue
		}
		left = append(left, whole[from:f.tag]...)
		from = f.end
	}
	if from == 0 {
		return whole
	}
	return append(left, whole[from:]...)
}

// isConverted tells an annotation that is left out. One that cannot be read stays what it is.
func (s *Shape) isConverted(at *scanner, f field) bool {
	pair, err := readEntry(at, f)
	return err == nil && slices.Contains(s.converted, string(pair.key))
}
