package jsonwire

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// parts is an item's row: its bytes, cut. They alias the item.
type parts struct {
	object     []byte // complete, kind and apiVersion included, without a newline
	cells      []byte // a JSON array; nil when the upstream printed none
	conditions []byte // a JSON array; nil when there is none
}

func open(it *wire.Item) parts {
	data, m := item.Data(it), item.MarksOf(it)
	p := parts{object: data[:m.Object]}
	if m.Cells > m.Object {
		p.cells = data[m.Object:m.Cells]
	}
	if int(m.Cells) < len(data) {
		p.conditions = data[m.Cells:]
	}
	return p
}

// whole is an item's object.
func whole(it *wire.Item) []byte { return item.Data(it)[:item.MarksOf(it).Object] }

// versionOf is the text of an item's resourceVersion.
func versionOf(it *wire.Item) []byte {
	at := item.MarksOf(it).Version
	return item.Data(it)[at.Start:at.End]
}

// appendListed appends the object as it stands in a list: built-in objects leave their type meta out (semantics 7.1).
func appendListed(dst []byte, it *wire.Item) []byte {
	data, m := item.Data(it), item.MarksOf(it)
	if m.Rest == 0 {
		return append(dst, data[:m.Object]...)
	}
	return append(append(dst, '{'), data[m.Rest:m.Object]...)
}

// withVersion exchanges the text of the resourceVersion.
func withVersion(it *wire.Item, rv string) wire.Item {
	data, m := item.Data(it), *item.MarksOf(it)
	moved := make([]byte, 0, len(data)+len(rv)-int(m.Version.End-m.Version.Start))
	moved = append(moved, data[:m.Version.Start]...)
	moved = append(moved, rv...)
	moved = append(moved, data[m.Version.End:]...)
	by := uint32(len(moved) - len(data)) // wraps around when the version became shorter, and so do the sums
	m.Version.End += by
	m.Metadata.End += by
	m.Object += by
	m.Cells += by
	if m.Rest > m.Version.Start {
		m.Rest += by
	}
	return item.New(moved, m)
}
