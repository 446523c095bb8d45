package wire

import (
	"encoding/json"
	"fmt"
)

// Shape is what answers of one kind look like, learned from the upstream when a lane starts. A Shape in use is not changed.
type Shape struct {
	APIVersion, Kind, ListKind string
	// Custom tells custom-resource style, sorted keys and items with type meta (semantics 7.2), from built-in style (7.1).
	Custom bool
	// Columns are those of the kind's Table; RawColumns is their array as the upstream wrote it.
	Columns    []Column
	RawColumns []byte
	// Ages re-renders the cells that grow old; nil when there are none.
	Ages *Ages
	// Invented names the annotations that PartialObjectMetadata leaves out, see InventedAnnotations.
	Invented []string
}

// nullRows tells a built-in kind whose empty Table has null in the place of rows: those that have no printer of their own,
// told by the columns that every such kind gets, and definitions of custom resources.
func (s *Shape) nullRows() bool {
	if s.Custom {
		return false
	}
	unprinted := len(s.Columns) == 2 && s.Columns[1].Name == "Created At"
	return unprinted || s.Kind == "CustomResourceDefinition"
}

// Column is a Table's column.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
}

// LearnList reads a plain list body of a kind, empty or not: its list kind, version and style.
func LearnList(body []byte) (Shape, error) {
	list, err := SplitList(body, func(Row) error { return nil })
	if err != nil {
		return Shape{}, err
	}
	if list.APIVersion == "" {
		return Shape{}, &MalformedError{Reason: "a list without type meta"}
	}
	s := scanner{data: body}
	if err := s.expect('{'); err != nil {
		return Shape{}, err
	}
	first, err := s.key()
	if err != nil {
		return Shape{}, err
	}
	return Shape{APIVersion: list.APIVersion, ListKind: list.Kind, Custom: string(first) == "apiVersion"}, nil
}

// SetColumns takes a Table's columns; raw is copied.
func (s *Shape) SetColumns(raw []byte) error {
	var columns []Column
	if err := json.Unmarshal(raw, &columns); err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	s.Columns, s.RawColumns = columns, append([]byte(nil), raw...)
	return nil
}

// WithTypeMeta puts kind and apiVersion in front of an object that was listed without them, in built-in style. What is no
// object stays what it is.
func (s *Shape) WithTypeMeta(object []byte) []byte {
	inside := scanner{data: object}
	if inside.expect('{') != nil {
		return object
	}
	whole := make([]byte, 0, len(object)+len(s.Kind)+len(s.APIVersion)+len(`{"kind":"","apiVersion":"",`))
	whole = append(whole, `{"kind":"`+s.Kind+`","apiVersion":"`+s.APIVersion+`"`...)
	if inside.peek() != '}' {
		whole = append(whole, ',')
	}
	return append(whole, object[inside.pos:]...)
}
