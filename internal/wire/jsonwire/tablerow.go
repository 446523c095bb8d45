package jsonwire

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/table"
)

type rowOptions struct {
	meta    wire.MetaVersion
	include wire.Include
	ages    *table.Ages  // cells with ages; nil leaves all cells unchanged
	clock   *table.Clock // time that ages are relative to
}

func (s *Shape) rowOptions(f wire.Representation, now time.Time) rowOptions {
	return rowOptions{meta: f.Meta, include: f.Include, ages: s.ages, clock: s.agesAt(now)}
}

// noColumns replaces the columns in later Tables of a watch (semantics 4.8).
var noColumns = []byte("null")

func appendTableHead(dst []byte, version wire.MetaVersion, meta wire.ListMeta, columns []byte) []byte {
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

func (s *Shape) appendRow(dst []byte, open *item.Opened, o *rowOptions) []byte {
	p := cut(open)
	dst = append(dst, `{"cells":`...)
	if p.cells == nil {
		dst = append(dst, "null"...)
	} else {
		dst = o.ages.AppendCells(dst, p.object, p.cells, o.clock)
	}
	if p.conditions != nil {
		dst = append(append(dst, `,"conditions":`...), p.conditions...)
	}
	dst = append(dst, `,"object":`...)
	switch o.include {
	case wire.IncludeObject:
		dst = append(dst, p.object...)
	case wire.IncludeMetadata:
		dst = s.appendPartial(dst, open, o.meta)
	default:
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

func (s *Shape) appendTable(dst []byte, it *wire.Item, o rowOptions, columns []byte) []byte {
	open := item.Open(it)
	defer open.Close()
	dst = appendTableHead(dst, o.meta, wire.ListMeta{ResourceVersion: string(versionOf(&open))}, columns)
	return append(s.appendRow(append(dst, '['), &open, &o), "]}"...)
}
