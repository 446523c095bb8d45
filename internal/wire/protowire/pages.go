package protowire

import "github.com/listfacade/listfacade/internal/wire"

// pageReader implements wire.PageReader. It reads lists, because protobuf has no Tables.
type pageReader struct{ *reader }

// Head implements wire.PageReader. The metadata precedes the objects.
func (p *pageReader) Head(page []byte) (wire.ListHead, error) {
	message, err := p.shape.list.open(page)
	if err != nil {
		return wire.ListHead{}, err
	}
	s := scanner{data: message}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return wire.ListHead{}, err
		}
		if f.number != listMetadata {
			continue
		}
		meta, err := readListMeta(&s, f)
		if err != nil {
			return wire.ListHead{}, err
		}
		return headOf(meta), nil
	}
	return wire.ListHead{}, malformed("list without metadata")
}

// Rows implements wire.PageReader.
func (*pageReader) Rows([]byte) (wire.ListHead, error) {
	return wire.ListHead{}, malformed("page of Table rows in protobuf, want none")
}

// Rest implements wire.PageReader.
func (*pageReader) Rest() int { return 0 }

// Objects implements wire.PageReader.
func (p *pageReader) Objects(page []byte, each func(wire.Item, wire.Facts) error) (wire.ListHead, error) {
	return p.List(page, each)
}
