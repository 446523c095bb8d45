package jsonwire

import (
	"strconv"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// cutter splits lists and watch frames.
type cutter struct {
	scan.Scanner
	bare bool // true if rows of Tables must not contain objects
}

// ListBody is the metadata of a list. Columns aliases the body.
type ListBody struct {
	APIVersion, Kind          string
	ResourceVersion, Continue string
	Remaining                 int64  // number of objects on further pages; 0 if unknown
	Columns                   []byte // column definitions of a Table, a JSON array; nil for other lists
}

// SplitList splits a list body into objects, with their rows if it is a Table. It calls the function each for every
// object, in order. It supports Tables, and lists of built-in and custom resources (semantics 6.4, 7.1, 7.2). It
// returns a *scan.MalformedError, or the error that each returned.
func SplitList(body []byte, each func(Row) error) (ListBody, error) {
	c := cutter{Scanner: scan.Scanner{Data: body}}
	cut := c.list
	if isTable(body) {
		cut = c.table
	}
	return c.whole(cut, each)
}

func splitRows(body []byte, each func(Row) error) (ListBody, error) {
	c := cutter{Scanner: scan.Scanner{Data: body}, bare: true}
	return c.whole(c.table, each)
}

func (c *cutter) whole(cut func(func(Row) error) (ListBody, error), each func(Row) error) (ListBody, error) {
	list, err := cut(each)
	if err != nil {
		return ListBody{}, err
	}
	return list, c.End()
}

func (c *cutter) list(each func(Row) error) (ListBody, error) {
	var list ListBody
	items := false
	err := c.Object(func(key []byte) error {
		if string(key) != "items" {
			return c.listMember(key, &list)
		}
		items = true
		if c.Peek() == 'n' { // null means no items
			return c.Literal("null")
		}
		return c.Array(func(int) error {
			object, err := c.Skip()
			if err != nil {
				return err
			}
			return each(Row{Object: object})
		})
	})
	if err == nil && (!items || list.Kind == "") {
		return ListBody{}, c.Fail("body is not a list")
	}
	return list, err
}

func (c *cutter) table(each func(Row) error) (ListBody, error) {
	var list ListBody
	rows := false
	err := c.Object(func(key []byte) error {
		switch string(key) {
		case "columnDefinitions":
			columns, err := c.Skip()
			if err == nil && columns[0] == '[' {
				list.Columns = columns
			}
			return err
		case "rows":
			rows = true
			if c.Peek() == 'n' { // some kinds have null for no rows
				return c.Literal("null")
			}
			return c.Array(func(int) error { return c.row(each) })
		}
		return c.listMember(key, &list)
	})
	if err == nil && !rows {
		return ListBody{}, c.Fail("Table without rows")
	}
	return list, err
}

func (c *cutter) row(each func(Row) error) error {
	var r Row
	err := c.Object(func(key []byte) error {
		value, err := c.Skip()
		switch string(key) {
		case "cells":
			r.Cells = value
		case "conditions":
			if string(value) != "null" {
				r.Conditions = value
			}
		case "object":
			r.Object = value
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.bare && string(r.Object) == "null" {
		r.Object = nil
	} else if c.bare || len(r.Object) == 0 || r.Object[0] != '{' {
		return c.Fail("row without a requested object, or with an object that was not requested")
	}
	if len(r.Cells) == 0 || r.Cells[0] != '[' {
		return c.Fail("row without cells")
	}
	if r.Conditions != nil && r.Conditions[0] != '[' {
		return c.Fail("row conditions are not an array")
	}
	return each(r)
}

func (c *cutter) listMember(key []byte, list *ListBody) error {
	value, err := c.Skip()
	if err != nil {
		return err
	}
	switch string(key) {
	case "kind":
		list.Kind = scalar(value)
	case "apiVersion":
		list.APIVersion = scalar(value)
	case "metadata":
		version, _ := scan.Lookup(value, "resourceVersion")
		list.ResourceVersion = scalar(version)
		token, _ := scan.Lookup(value, "continue")
		list.Continue = scalar(token)
		remaining, _ := scan.Lookup(value, "remainingItemCount")
		list.Remaining, _ = strconv.ParseInt(string(remaining), 10, 64) // 0 if it is missing
	}
	return nil
}

// scalar returns the text of a string, or "" for other values.
func scalar(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return scan.Unquote(raw[1 : len(raw)-1])
}
