package wire

import (
	"io"
	"time"
)

// MetaVersion is the group version that a transformed answer says it has.
type MetaVersion string

// The versions of meta.k8s.io.
const (
	MetaV1      MetaVersion = "meta.k8s.io/v1"
	MetaV1Beta1 MetaVersion = "meta.k8s.io/v1beta1"
)

// Include is how much of the object a Table's row holds.
type Include int

// The values of includeObject (semantics 6.4).
const (
	IncludeMetadata Include = iota
	IncludeObject
	IncludeNone
)

// TableOptions say what a Table's rows hold.
type TableOptions struct {
	Meta    MetaVersion
	Include Include
	Now     time.Time // what ages are counted to
}

// noColumns stands where a watch's Table does not repeat its columns (semantics 4.8).
var noColumns = []byte("null")

func appendTableHead(dst []byte, version MetaVersion, meta ListMeta, columns []byte) []byte {
	dst = append(dst, `{"kind":"Table","apiVersion":"`...)
	dst = append(dst, version...)
	dst = append(dst, `","metadata":`...)
	dst = appendListMeta(dst, meta)
	dst = append(dst, `,"columnDefinitions":`...)
	if columns == nil {
		columns = noColumns
	}
	dst = append(dst, columns...)
	return append(dst, `,"rows":`...)
}

// appendRow appends a row, with the cells that grow old as they are now; ages may be nil.
func appendRow(dst []byte, shape *Shape, ages *Ages, it Item, o TableOptions) []byte {
	dst = append(dst, `{"cells":`...)
	if it.Cells == nil {
		dst = append(dst, "null"...)
	} else {
		dst = ages.AppendCells(dst, it, o.Now)
	}
	if it.conditions != nil {
		dst = append(append(dst, `,"conditions":`...), it.conditions...)
	}
	dst = append(dst, `,"object":`...)
	switch o.Include {
	case IncludeObject:
		dst = append(dst, it.JSON...)
	case IncludeMetadata:
		dst = appendPartial(dst, shape, it, o.Meta)
	default:
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

// WriteTable writes one object as a Table with one row.
func WriteTable(w io.Writer, shape *Shape, it Item, o TableOptions) error {
	_, err := w.Write(append(appendTable(nil, shape, shape.Ages, it, o, shape.RawColumns), '\n'))
	return err
}

func appendTable(dst []byte, shape *Shape, ages *Ages, it Item, o TableOptions, columns []byte) []byte {
	dst = appendTableHead(dst, o.Meta, ListMeta{ResourceVersion: it.resourceVersion()}, columns)
	return append(appendRow(append(dst, '['), shape, ages, it, o), "]}"...)
}

// WriteObject writes one object.
func WriteObject(w io.Writer, it Item) error {
	if _, err := w.Write(it.JSON); err != nil {
		return err
	}
	_, err := w.Write([]byte{'\n'})
	return err
}

// WritePartial writes one object's PartialObjectMetadata.
func WritePartial(w io.Writer, shape *Shape, it Item, meta MetaVersion) error {
	_, err := w.Write(append(appendPartial(nil, shape, it, meta), '\n'))
	return err
}
