package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/scan"
	"github.com/listfacade/listfacade/internal/wire/table"
)

// pageReader implements wire.PageReader. It reads plain lists and Tables without objects. kube-apiserver sends the
// objects and the rows in the same order, except for kinds whose printer sorts (FlowSchemas). Therefore pageReader
// compares the name in every row with the object.
type pageReader struct {
	*reader
	printed bool
	columns []byte // nil before the first Table of this listing
	name    int    // index of the cell that contains the object's name
	rows    []Row  // rows whose objects have not been read
}

// Head implements wire.PageReader.
func (p *pageReader) Head(page []byte) (wire.ListHead, error) {
	if list, ok := headBehind(page); ok {
		return list.head(), nil
	}
	c := cutter{Scanner: scan.Scanner{Data: page}}
	list, err := c.head()
	return list.head(), err
}

// errEnough ends a scan as soon as head has found the metadata.
var errEnough = errors.New("found")

// head reads a list up to its metadata. In a built-in list and in a Table, the metadata precedes the objects.
func (c *cutter) head() (ListBody, error) {
	var list ListBody
	err := c.Object(func(key []byte) error {
		if err := c.listMember(key, &list); err != nil {
			return err
		}
		if string(key) == "metadata" {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return list, nil
	case err != nil:
		return ListBody{}, err
	}
	return ListBody{}, c.Fail("list without metadata")
}

// headBehind finds the metadata of a custom resource's list, in which metadata is the last member. Only in such a list,
// one closing brace and the end of the body follow the metadata.
func headBehind(page []byte) (list ListBody, ok bool) {
	const key = `"metadata":`
	at := bytes.LastIndex(page, []byte(key+"{"))
	if at < 0 {
		return list, false
	}
	c := cutter{Scanner: scan.Scanner{Data: page, Pos: at + len(key)}}
	if c.listMember([]byte("metadata"), &list) != nil || c.Expect('}') != nil || c.End() != nil {
		return ListBody{}, false
	}
	return list, true
}

// Rows implements wire.PageReader.
func (p *pageReader) Rows(page []byte) (wire.ListHead, error) {
	list, err := splitRows(page, func(r Row) error {
		p.rows = append(p.rows, r)
		return nil
	})
	if err != nil {
		return wire.ListHead{}, err
	}
	if p.columns == nil {
		if p.name, err = nameColumn(list.Columns); err != nil {
			return wire.ListHead{}, err
		}
		p.columns = bytes.Clone(list.Columns)
	}
	if !bytes.Equal(p.columns, list.Columns) {
		return wire.ListHead{}, &scan.MalformedError{Reason: "pages of one Table have different columns"}
	}
	return list.head(), nil
}

func nameColumn(raw []byte) (int, error) {
	var columns []table.Column
	if err := json.Unmarshal(raw, &columns); err != nil {
		return 0, &scan.MalformedError{Reason: "decode columns: " + err.Error()}
	}
	at := slices.IndexFunc(columns, func(c table.Column) bool { return c.Format == "name" })
	if at < 0 {
		return 0, fmt.Errorf("%w: no column contains object names", wire.ErrUnaligned)
	}
	return at, nil
}

// Rest implements wire.PageReader.
func (p *pageReader) Rest() int { return len(p.rows) }

// Objects implements wire.PageReader.
func (p *pageReader) Objects(page []byte, each func(wire.Item, wire.Facts) error) (wire.ListHead, error) {
	if !p.printed {
		return p.List(page, each)
	}
	lead := p.lead()
	list, err := SplitList(page, func(row Row) error {
		if len(p.rows) == 0 {
			return fmt.Errorf("%w: rows ended before the objects", wire.ErrUnaligned)
		}
		row.Lead, row.Cells, row.Conditions = lead, p.rows[0].Cells, p.rows[0].Conditions
		p.rows = p.rows[1:]
		item, facts, err := p.extractor.Scan(row)
		if err != nil {
			return err
		}
		if !p.names(row.Cells, facts.Name) {
			return fmt.Errorf("%w: next row does not contain the name %q", wire.ErrUnaligned, facts.Name)
		}
		return each(item, facts)
	})
	if err != nil {
		return wire.ListHead{}, err
	}
	return list.head(), nil
}

func (p *pageReader) names(cells []byte, object string) bool {
	at := 0
	for cell := range scan.Elements(cells) {
		if at == p.name {
			return len(cell) > 1 && cell[0] == '"' && scalar(cell) == object
		}
		at++
	}
	return false
}
