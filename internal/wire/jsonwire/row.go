package jsonwire

import (
	"bytes"
	"encoding/json"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Row is one object of a list or a watch, with its Table row. Its bytes alias the input.
type Row struct {
	Object     []byte
	Lead       []byte // bytes that replace the object's opening bracket in the item; nil if the object is complete
	Cells      []byte // JSON array; nil if the upstream sent none
	Conditions []byte // JSON array; nil if there are none. Finished pods have some (metav1.TableRow)
}

// dense validates cells and conditions, and returns the row without white space between their values.
func (r Row) dense() (Row, error) {
	var err error
	if r.Cells, err = denseArray(r.Cells); err != nil {
		return Row{}, err
	}
	if r.Conditions, err = denseArray(r.Conditions); err != nil {
		return Row{}, err
	}
	return r, nil
}

func denseArray(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s := scan.Scanner{Data: raw}
	if s.Peek() != '[' {
		return nil, s.Fail("row cells or conditions are not an array")
	}
	array, err := s.Skip()
	if err == nil {
		err = s.End()
	}
	if err != nil || !s.Spaced {
		return array, err
	}
	return compact(array)
}

func compact(value []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(value))
	if err := json.Compact(&b, value); err != nil {
		return nil, &scan.MalformedError{Reason: err.Error()}
	}
	return b.Bytes(), nil
}
