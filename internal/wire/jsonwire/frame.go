package jsonwire

import (
	"bytes"
	"fmt"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Frame is one event of a watch, cut but not decoded. Its bytes alias what was parsed.
type Frame struct {
	Type            string // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	ResourceVersion string // the object's
	Columns         []byte // of a Table with columns: their array; nil otherwise
	Row             Row    // the object and, of a Table, its row; empty in an ERROR frame
	Status          []byte // of an ERROR frame: the Status object
}

// ParseFrame cuts a frame that holds an object or a Table with one row (semantics 4.6, 4.8). It fails with a
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

// open cuts the frame's object; of a Table it takes the row.
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
		return c.Fail(fmt.Sprintf("a watch frame with %d rows", rows))
	}
	f.Columns = table.Columns
	return err
}

// settle checks what was found and tells errors from objects.
func (f *Frame) settle() error {
	object := f.Row.Object
	if f.Type == "" || len(object) == 0 || object[0] != '{' {
		return &scan.MalformedError{Reason: "a watch frame without type or object"}
	}
	if f.Type == "ERROR" {
		*f = Frame{Type: f.Type, Status: object}
		return nil
	}
	version, _ := scan.Lookup(object, "metadata.resourceVersion")
	if f.ResourceVersion = scalar(version); f.ResourceVersion == "" {
		return &scan.MalformedError{Reason: "a watch frame's object without metadata.resourceVersion"}
	}
	return nil
}

// eventType spares an allocation for each event.
func eventType(text []byte) string {
	for _, known := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
		if string(text) == known {
			return known
		}
	}
	return string(text)
}

// isTable tells by the type meta, which every Table begins with. Further on it is not looked for: a custom resource's
// list has its kind behind its items.
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

// leading is the value of the next member if it has this key.
func leading(s *scan.Scanner, key string) ([]byte, bool) {
	if found, err := s.Key(); err != nil || string(found) != key {
		return nil, false
	}
	value, err := s.Skip()
	return value, err == nil
}
