package protowire

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

func metadata(open *item.Opened) []byte {
	at := open.Marks().Metadata
	return open.Data()[at.Start:at.End]
}

// newItem makes an item from a message. The fields metadata and version must be in shortest encoding.
func newItem(data []byte, metadata, version field) wire.Item {
	return item.New(data, marksOf(data, metadata, version))
}

func marksOf(data []byte, metadata, version field) item.Marks {
	return item.Marks{
		Object: uint32(len(data)), Cells: uint32(len(data)),
		Metadata: item.Span{Start: uint32(metadata.start), End: uint32(metadata.end)},
		Version:  item.Span{Start: uint32(version.start), End: uint32(version.end)},
	}
}

// withVersion returns the item with another resourceVersion. It adjusts the lengths of the fields resourceVersion and
// metadata.
func withVersion(it *wire.Item, rv string) wire.Item {
	open := item.Open(it)
	defer open.Close()
	data, m := open.Data(), open.Marks()
	metadata := field{start: int(m.Metadata.Start), end: int(m.Metadata.End)}
	version := field{start: int(m.Version.Start), end: int(m.Version.End)}
	metadata.tag = metadata.start - headLen(objectMetadata, metadata.end-metadata.start)
	version.tag = version.start - headLen(metaVersion, version.end-version.start)
	length := metadata.end - metadata.start + fieldLen(metaVersion, len(rv)) - (version.end - version.tag)

	moved := make([]byte, 0, len(data)+fieldLen(objectMetadata, length)-(metadata.end-metadata.tag))
	moved = appendHead(append(moved, data[:metadata.tag]...), objectMetadata, length)
	into := field{start: len(moved), end: len(moved) + length}
	moved = append(moved, data[metadata.start:version.tag]...)
	moved = appendHead(moved, metaVersion, len(rv))
	at := field{start: len(moved), end: len(moved) + len(rv)}
	moved = append(append(moved, rv...), data[version.end:]...)
	return newItem(moved, into, at)
}
