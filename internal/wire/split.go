package wire

import "bytes"

// List is what a list body says besides its items. Columns alias the body.
type List struct {
	APIVersion, Kind          string
	ResourceVersion, Continue string
	Columns                   []byte // of a Table: the array of its columns; nil otherwise
}

// SplitList cuts a list body into objects and, if it is a Table, what else their rows say, for Extractor.Scan; each is
// called in order and its arguments alias the body. It knows Tables, lists of built-in resources and of custom resources (semantics 6.4, 7.1, 7.2). It fails
// with a *MalformedError, or with the error that each returned.
func SplitList(body []byte, each func(object, row []byte) error) (List, error) {
	if isTable(body) {
		return splitTable(body, each)
	}
	var list List
	s := scanner{data: body}
	items := false
	err := s.object(func(key []byte) error {
		if string(key) != "items" {
			return s.listMember(key, &list)
		}
		items = true
		if s.peek() == 'n' { // null: no items
			_, err := s.skip()
			return err
		}
		return s.array(func(int) error {
			object, err := s.skip()
			if err != nil {
				return err
			}
			return each(object, nil)
		})
	})
	return list, s.finished(err, items && list.Kind != "")
}

// splitTable cuts a Table into its rows.
func splitTable(body []byte, each func(object, row []byte) error) (List, error) {
	var list List
	s := scanner{data: body}
	rows := false
	err := s.object(func(key []byte) error {
		switch string(key) {
		case "columnDefinitions":
			columns, err := s.skip()
			if err == nil && columns[0] == '[' {
				list.Columns = columns
			}
			return err
		case "rows":
			rows = true
			return s.array(func(int) error { return s.row(each) })
		}
		return s.listMember(key, &list)
	})
	return list, s.finished(err, rows)
}

func (s *scanner) row(each func(object, row []byte) error) error {
	var object []byte
	var r row
	err := s.object(func(key []byte) error {
		value, err := s.skip()
		switch string(key) {
		case "cells":
			r.cells = value
		case "conditions":
			r.conditions = append(bytes.Clone(conditionsMember), value...)
		case "object":
			object = value
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(object) == 0 || object[0] != '{' || len(r.cells) == 0 || r.cells[0] != '[' {
		return s.fail("a row without cells or object")
	}
	return each(object, r.joined())
}

func (s *scanner) listMember(key []byte, list *List) error {
	value, err := s.skip()
	if err != nil {
		return err
	}
	switch string(key) {
	case "kind":
		list.Kind = scalar(value)
	case "apiVersion":
		list.APIVersion = scalar(value)
	case "metadata":
		version, _ := Lookup(value, "resourceVersion")
		list.ResourceVersion = scalar(version)
		token, _ := Lookup(value, "continue")
		list.Continue = scalar(token)
	}
	return nil
}

// scalar is a string's text, and nothing of anything else.
func scalar(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return unquote(raw[1 : len(raw)-1])
}

// finished checks that the body was whole and was a list.
func (s *scanner) finished(err error, list bool) error {
	if err != nil {
		return err
	}
	if !list {
		return &MalformedError{Reason: "not a list"}
	}
	return s.end()
}
