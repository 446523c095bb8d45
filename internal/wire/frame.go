package wire

import (
	"bytes"
	"fmt"
)

// Frame is one event of a watch, cut but not decoded. Its bytes alias what was parsed.
type Frame struct {
	Type            string // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	ResourceVersion string // the object's
	Columns         []byte // of a Table with columns: their array; nil otherwise
	Object          []byte // the object; nil in an ERROR frame
	Cells           []byte // of a Table: what its row says beside the object, for Extractor.Scan
	Status          []byte // of an ERROR frame: the Status object
}

// ParseFrame cuts a frame that holds an object or a Table with one row (semantics 4.6, 4.8). It fails with a
// *MalformedError.
func ParseFrame(line []byte) (Frame, error) {
	var f Frame
	var object []byte
	s := scanner{data: line}
	err := s.object(func(key []byte) error {
		switch string(key) {
		case "type":
			text, err := s.str()
			f.Type = eventType(text)
			return err
		case "object":
			var err error
			object, err = s.skip()
			return err
		}
		_, err := s.skip()
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Frame{}, err
	}
	if f.Type == "" || object == nil || object[0] != '{' {
		return Frame{}, &MalformedError{Reason: "a watch frame without type or object"}
	}
	if f.Type == "ERROR" {
		f.Status = object
		return f, nil
	}
	err = f.open(object)
	return f, err
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

// open looks into the object: a Table's row is taken out of it.
func (f *Frame) open(object []byte) error {
	if !isTable(object) {
		f.Object = object
	} else {
		rows := 0
		table, err := splitTable(object, func(object, row []byte) error {
			f.Object, f.Cells = object, row
			rows++
			return nil
		})
		if err != nil {
			return err
		}
		if rows != 1 {
			return &MalformedError{Reason: fmt.Sprintf("a watch frame with %d rows", rows)}
		}
		f.Columns = table.Columns
	}
	version, ok := Lookup(f.Object, "metadata.resourceVersion")
	if !ok || len(version) < 2 || version[0] != '"' {
		return &MalformedError{Reason: "a watch frame's object without metadata.resourceVersion"}
	}
	f.ResourceVersion = unquote(version[1 : len(version)-1])
	return nil
}

// isTable tells by the type meta, which every Table begins with. Further on it is not looked for: a custom resource's list
// has its kind behind its items.
func isTable(object []byte) bool {
	s := scanner{data: object}
	if s.expect('{') != nil {
		return false
	}
	kind, ok := s.leading("kind")
	if !ok || string(kind) != `"Table"` || s.expect(',') != nil {
		return false
	}
	version, ok := s.leading("apiVersion")
	return ok && bytes.HasPrefix(version, []byte(`"meta.k8s.io/`))
}

// leading is the value of the next member if it has this key.
func (s *scanner) leading(key string) ([]byte, bool) {
	if found, err := s.key(); err != nil || string(found) != key {
		return nil, false
	}
	value, err := s.skip()
	return value, err == nil
}
