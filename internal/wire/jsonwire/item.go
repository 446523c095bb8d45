package jsonwire

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

type parts struct {
	object     []byte // with kind and apiVersion, without a newline
	cells      []byte // JSON array; nil if the upstream sent none
	conditions []byte // JSON array; nil if there are none
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

func versionOf(open *item.Opened) []byte {
	at := open.Marks().Version
	return open.Data()[at.Start:at.End]
}

// appendWhole appends the object of an item, which is at the start of its bytes.
func appendWhole(dst []byte, it *wire.Item) []byte {
	start := len(dst)
	return item.Append(dst, it)[:start+int(item.MarksOf(it).Object)]
}

// appendListed appends an object as it appears in a list. Built-in objects omit their type meta (semantics 7.1).
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
	dst = append(item.Append(append(dst, '{'), it)[:start], '{') // unpack, then overwrite the type meta
	n := copy(dst[start+1:cap(dst)], dst[start+1+int(m.Rest):start+1+int(m.Object)])
	return dst[:start+1+n]
}

func withVersion(it *wire.Item, rv string) wire.Item {
	open := item.Open(it)
	defer open.Close()
	data, m := open.Data(), *open.Marks()
	moved := make([]byte, 0, len(data)+len(rv)-int(m.Version.End-m.Version.Start))
	moved = append(moved, data[:m.Version.Start]...)
	moved = append(moved, rv...)
	moved = append(moved, data[m.Version.End:]...)
	by := uint32(len(moved) - len(data)) // wraps around if the version is shorter; the sums wrap back
	m.Version.End += by
	m.Metadata.End += by
	m.Object += by
	m.Cells += by
	if m.Rest > m.Version.Start {
		m.Rest += by
	}
	return item.New(moved, m)
}
