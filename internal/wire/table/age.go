package table

import (
	"slices"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Ages re-renders the cells of one kind that go stale: those whose text says how long ago something was. All other
// cells are served as the upstream printed them (design section 3). An Ages is immutable and safe for concurrent use;
// a nil one leaves every row as it is.
type Ages struct {
	cells  []staleCell // ascending by index
	frozen []string
}

// staleCell is a cell of a row whose text depends on the time it is printed at.
type staleCell struct {
	index  int // in the row; not always that of a column, see kindAges
	render renderer
}

// renderer prints one stale cell of object anew. It reports false when the cell's text does not depend on the time: a
// Job that has ended, a pod that never restarted, a timestamp that is not set. Such a cell is right as it is.
type renderer func(object, cell []byte, at *Clock) (text string, ok bool)

// AgesFor returns the stale cells of a kind, nil when it has none.
//
// For a custom resource datePaths is not nil, even where nothing is known of the columns: then and only then cells of
// type "date" hold an age. It runs parallel to columns, each entry the column's JSONPath as the definition writes it,
// "" where it is unknown; most unknown ones can still be told from their description.
//
// For any other kind datePaths is nil and the rules are those of kube-apiserver's own printers.
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

// Frozen names the columns that go stale but cannot be rendered anew, because what they print is unknown or found by a
// JSONPath beyond this package. Their cells stay as old as the row; whoever needs them exact asks the upstream.
func (a *Ages) Frozen() []string {
	if a == nil {
		return nil
	}
	return slices.Clone(a.frozen)
}

// AppendCells appends the cells of an object's row, a JSON array, to dst: those that hold an age as they read now,
// all others byte for byte as the upstream sent them. What is malformed is passed on, not repaired.
func (a *Ages) AppendCells(dst, object, cells []byte, at *Clock) []byte {
	if a == nil {
		return append(dst, cells...)
	}
	stale, copied := a.cells, 0
	s := scan.Scanner{Data: cells}
	// An error ends the walk; what was not reached stays as it is.
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

// appendText appends text as encoding/json quotes it. Rendered ages are printable ASCII without quotes or backslashes,
// of which only the brackets of <invalid> are escaped.
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
