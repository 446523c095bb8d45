package protowire

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// partialMetadata is the number of the only field of PartialObjectMetadata.
const partialMetadata int32 = 1

// partialOf returns the metadata of an item's PartialObjectMetadata, without the annotations that kube-apiserver omits
// (wire.ConversionAnnotations). The result may alias the opened item.
func (s *Shape) partialOf(open *item.Opened) []byte {
	whole := metadata(open)
	if len(s.converted) == 0 {
		return whole
	}
	rest, from := []byte(nil), 0
	for at := (scanner{data: whole}); at.more(); {
		f, err := at.next()
		if err != nil {
			panic("BUG: read metadata again: " + err.Error())
		}
		if f.number != metaAnnotations || !s.isConverted(&at, f) {
			continue
		}
		rest = append(rest, whole[from:f.tag]...)
		from = f.end
	}
	if from == 0 {
		return whole
	}
	return append(rest, whole[from:]...)
}

// isConverted reports whether a field is an annotation to omit. It returns false for an annotation that it cannot read.
func (s *Shape) isConverted(at *scanner, f field) bool {
	pair, err := readEntry(at, f)
	return err == nil && slices.Contains(s.converted, string(pair.key))
}
