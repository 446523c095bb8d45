package jsonwire

import (
	"bytes"
	"encoding/json"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Row is one object of a list or a watch, and what a Table says beside it. Its bytes alias what was cut.
type Row struct {
	Object     []byte
	Lead       []byte // what stands before the object's first member in the item; nil when it is complete
	Cells      []byte // a JSON array; nil when the upstream printed none
	Conditions []byte // a JSON array, which pods that have ended bring (metav1.TableRow); nil when there is none
}

// dense is the row with its cells and conditions checked and without white space between their values.
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

// denseArray is an array without white space between its values; nil stays nil.
func denseArray(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	s := scan.Scanner{Data: raw}
	if s.Peek() != '[' {
		return nil, s.Fail("a row's cells or conditions are no array")
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

// compact takes the white space between values out.
func compact(value []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(value))
	if err := json.Compact(&b, value); err != nil {
		return nil, &scan.MalformedError{Reason: err.Error()}
	}
	return b.Bytes(), nil
}
