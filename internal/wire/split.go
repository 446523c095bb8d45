package wire

// List is what a list body says besides its items. Columns alias the body.
type List struct {
	APIVersion, Kind          string
	ResourceVersion, Continue string
	Columns                   []byte // of a Table: the array of its columns; nil otherwise
}

// SplitList cuts a list body into its objects, with their rows if it is a Table; each is called in order. It knows Tables,
// lists of built-in resources and of custom resources (semantics 6.4, 7.1, 7.2). It fails with a *MalformedError, or with
// the error that each returned.
func SplitList(body []byte, each func(Row) error) (List, error) {
	s := scanner{data: body}
	cut := s.list
	if isTable(body) {
		cut = s.table
	}
	list, err := cut(each)
	if err != nil {
		return List{}, err
	}
	return list, s.end()
}

// list consumes a list of whole objects.
func (s *scanner) list(each func(Row) error) (List, error) {
	var list List
	items := false
	err := s.object(func(key []byte) error {
		if string(key) != "items" {
			return s.listMember(key, &list)
		}
		items = true
		if s.peek() == 'n' { // null: no items
			return s.literal("null")
		}
		return s.array(func(int) error {
			object, err := s.skip()
			if err != nil {
				return err
			}
			return each(Row{Object: object})
		})
	})
	if err == nil && (!items || list.Kind == "") {
		return List{}, s.fail("not a list")
	}
	return list, err
}

// table consumes a Table.
func (s *scanner) table(each func(Row) error) (List, error) {
	var list List
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
	if err == nil && !rows {
		return List{}, s.fail("a Table without rows")
	}
	return list, err
}

func (s *scanner) row(each func(Row) error) error {
	var r Row
	err := s.object(func(key []byte) error {
		value, err := s.skip()
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
	if len(r.Object) == 0 || r.Object[0] != '{' || len(r.Cells) == 0 || r.Cells[0] != '[' {
		return s.fail("a row without cells or object")
	}
	if r.Conditions != nil && r.Conditions[0] != '[' {
		return s.fail("a row whose conditions are no array")
	}
	return each(r)
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
