package jsonwire

import (
	"bytes"
	"fmt"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Frame is one watch event, split but not decoded. Its bytes alias the parsed line.
type Frame struct {
	Type            string // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	ResourceVersion string
	Columns         []byte // column definitions of a Table, a JSON array; nil if there are none
	Row             Row    // object and Table row; empty for ERROR
	Status          []byte // object of an ERROR
}

// ParseFrame splits a frame that contains an object or a Table with one row (semantics 4.6, 4.8). It fails with a
// *scan.MalformedError.
func ParseFrame(line []byte) (Frame, error) {
	var f Frame
	c := cutter{Scanner: scan.Scanner{Data: line}}
	err := c.Object(func(key []byte) error {
		switch string(key) {
		case "type":
			text, err := c.Text()
			f.Type = eventType(text)
			return err
		case "object":
			return f.open(&c)
		}
		_, err := c.Skip()
		return err
	})
	if err == nil {
		err = c.End()
	}
	if err == nil {
		err = f.settle()
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

// open reads the frame's object, or the row of its Table.
func (f *Frame) open(c *cutter) error {
	if !isTable(c.Data[c.Pos:]) {
		var err error
		f.Row.Object, err = c.Skip()
		return err
	}
	rows := 0
	table, err := c.table(func(r Row) error {
		f.Row = r
		rows++
		return nil
	})
	if err == nil && rows != 1 {
		return c.Fail(fmt.Sprintf("watch frame with %d rows, want 1", rows))
	}
	f.Columns = table.Columns
	return err
}

// settle validates the frame, and sets Status for an ERROR.
func (f *Frame) settle() error {
	object := f.Row.Object
	if f.Type == "" || len(object) == 0 || object[0] != '{' {
		return &scan.MalformedError{Reason: "watch frame without type or object"}
	}
	if f.Type == "ERROR" {
		*f = Frame{Type: f.Type, Status: object}
		return nil
	}
	version, _ := scan.Lookup(object, "metadata.resourceVersion")
	if f.ResourceVersion = scalar(version); f.ResourceVersion == "" {
		return &scan.MalformedError{Reason: "object in a watch frame has no metadata.resourceVersion"}
	}
	return nil
}

// eventType returns a constant for a known type, to avoid an allocation for each event.
func eventType(text []byte) string {
	for _, known := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
		if string(text) == known {
			return known
		}
	}
	return string(text)
}

// isTable reports whether an object is a Table. It reads only the leading type meta, because every Table starts with
// it. A custom resource's list has its kind after the items, so isTable must not search for the kind.
func isTable(object []byte) bool {
	s := scan.Scanner{Data: object}
	if s.Expect('{') != nil {
		return false
	}
	kind, ok := leading(&s, "kind")
	if !ok || string(kind) != `"Table"` || s.Expect(',') != nil {
		return false
	}
	version, ok := leading(&s, "apiVersion")
	return ok && bytes.HasPrefix(version, []byte(`"meta.k8s.io/`))
}

func leading(s *scan.Scanner, key string) ([]byte, bool) {
	if found, err := s.Key(); err != nil || string(found) != key {
		return nil, false
	}
	value, err := s.Skip()
	return value, err == nil
}
