package wire

import (
	"bytes"
	"encoding/json"
)

// row is what a Table's row says beside its object.
type row struct {
	cells      []byte // a JSON array
	conditions []byte // `,"conditions":[...]`, which pods that have ended bring (metav1.TableRow); nil otherwise
}

var conditionsMember = []byte(`,"conditions":`)

// joined is the row as one value, to be cut by cutRow again.
func (r row) joined() []byte {
	if r.conditions == nil {
		return r.cells
	}
	return append(bytes.Clone(r.cells), r.conditions...)
}

// cutRow cuts what joined made.
func cutRow(joined []byte) (row, error) {
	if len(joined) == 0 {
		return row{}, nil
	}
	s := scanner{data: joined}
	cells, err := s.skip()
	if err != nil {
		return row{}, err
	}
	if cells[0] != '[' {
		return row{}, &MalformedError{Reason: "a row whose cells are no array"}
	}
	r := row{cells: cells}
	if rest := joined[s.pos:]; bytes.HasPrefix(rest, conditionsMember) {
		s.pos += len(conditionsMember)
		value, err := s.skip()
		if err != nil {
			return row{}, err
		}
		r.conditions = rest[:len(conditionsMember)+len(value)]
	}
	if err := s.end(); err != nil || !s.spaced {
		return r, err
	}
	return r.compact()
}

func (r row) compact() (row, error) {
	cells, err := compact(r.cells)
	if err != nil || r.conditions == nil {
		return row{cells: cells}, err
	}
	conditions, err := compact(r.conditions[len(conditionsMember):])
	return row{cells: cells, conditions: append(bytes.Clone(conditionsMember), conditions...)}, err
}

// compact takes the white space between values out.
func compact(value []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(value))
	if err := json.Compact(&b, value); err != nil {
		return nil, &MalformedError{Reason: err.Error()}
	}
	return b.Bytes(), nil
}
