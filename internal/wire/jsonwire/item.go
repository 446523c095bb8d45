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

func cut(open *item.Opened) parts {
	data, m := open.Data(), open.Marks()
	p := parts{object: data[:m.Object]}
	if m.Cells > m.Object {
		p.cells = data[m.Object:m.Cells]
	}
	if int(m.Cells) < len(data) {
		p.conditions = data[m.Cells:]
	}
	return p
}

// versionOf is the text of an item's resourceVersion.
func versionOf(open *item.Opened) []byte {
	at := open.Marks().Version
	return open.Data()[at.Start:at.End]
}

// appendWhole appends an item's object, which stands first in its bytes.
func appendWhole(dst []byte, it *wire.Item) []byte {
	start := len(dst)
	return item.Append(dst, it)[:start+int(item.MarksOf(it).Object)]
}

// appendListed appends the object as it stands in a list: built-in objects leave their type meta out (semantics 7.1).
func appendListed(dst []byte, it *wire.Item) []byte {
	m := item.MarksOf(it)
	if m.Rest == 0 {
		return appendWhole(dst, it)
	}
	if !it.Packed() {
		open := item.Open(it)
		return append(append(dst, '{'), open.Data()[m.Rest:m.Object]...)
	}
	start := len(dst)
	dst = append(item.Append(append(dst, '{'), it)[:start], '{') // unpacked where it is to stand, and moved up
	n := copy(dst[start+1:cap(dst)], dst[start+1+int(m.Rest):start+1+int(m.Object)])
	return dst[:start+1+n]
}

// withVersion exchanges the text of the resourceVersion.
func withVersion(it *wire.Item, rv string) wire.Item {
	open := item.Open(it)
	defer open.Close()
	data, m := open.Data(), *open.Marks()
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
