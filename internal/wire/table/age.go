package table

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Ages renders the cells of one kind that show how long ago something happened. It leaves all other cells as the
// upstream sent them. Immutable; safe for concurrent use. A nil Ages changes no cells.
type Ages struct {
	cells  []staleCell // sorted by index
	frozen []string
}

// staleCell is a cell whose text depends on the current time.
type staleCell struct {
	index  int // index in the row; can differ from the column's index (kindAges)
	render renderer
}

// renderer returns the current text of a cell. It returns false if the text does not depend on the time, for example
// because there is no timestamp. AppendCells then leaves the cell unchanged.
type renderer func(object, cell []byte, at *Clock) (text string, ok bool)

// AgesFor returns the Ages of a kind, or nil when no cells depend on the time.
//
// For a custom resource, columns of type "date" contain ages. datePaths must have an entry for each column: its
// JSONPath from the definition, or "" if it is unknown. AgesFor derives most unknown paths from the column's
// description.
//
// For other kinds, datePaths is nil, and the rules of kube-apiserver's printers apply.
func AgesFor(group, resource string, columns []Column, datePaths []string) *Ages {
	a := &Ages{}
	if datePaths != nil {
		a.addDates(columns, datePaths)
	} else {
		a.cells = kindAges(group, resource, columns)
	}
	if len(a.cells) == 0 && len(a.frozen) == 0 {
		return nil
	}
	return a
}

// Frozen returns the names of columns with ages that cannot be rendered, because the source is unknown or an
// unsupported JSONPath. Their cells keep the age that the upstream sent.
func (a *Ages) Frozen() []string {
	if a == nil {
		return nil
	}
	return slices.Clone(a.frozen)
}

// AppendCells appends the cells of an object's row, a JSON array. Ages are relative to at.Now. Other cells and
// malformed cells are unchanged.
func (a *Ages) AppendCells(dst, object, cells []byte, at *Clock) []byte {
	if a == nil {
		return append(dst, cells...)
	}
	stale, copied := a.cells, 0
	s := scan.Scanner{Data: cells}
	// After an error, AppendCells copies the remaining cells unchanged.
	_ = s.Array(func(index int) error {
		cell, err := s.Skip()
		if err != nil || len(stale) == 0 || index != stale[0].index {
			return err
		}
		text, ok := stale[0].render(object, cell, at)
		stale = stale[1:]
		if ok {
			dst = append(dst, cells[copied:s.Pos-len(cell)]...)
			dst = appendText(dst, text)
			copied = s.Pos
		}
		return nil
	})
	return append(dst, cells[copied:]...)
}

// appendText appends text as a JSON string. Ages are printable ASCII without quotes or backslashes. Like encoding/json,
// it escapes the brackets of <invalid>.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '<':
			dst = append(dst, `\u003c`...)
		case '>':
			dst = append(dst, `\u003e`...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
