package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Event types of watch frames.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	Bookmark = "BOOKMARK"
)

// initialEventsEnd marks the bookmark after the initial events of a streaming list (KEP-3157).
const initialEventsEnd = "k8s.io/initial-events-end"

// Event is a parsed frame. Frame.Event parses it without code of the facade.
type Event struct {
	Type string
	RV   uint64
	// Key is namespace/name or name. It is empty if the frame has no name (a Table without objects).
	Key string
	// Object is the object in the frame: complete, metadata only, or the object of its Table row, which may be nil.
	// For a protobuf frame it is the JSON that a JSON stream would have.
	Object []byte
	// InitialEnd reports whether the event is the bookmark that ends the initial events.
	InitialEnd bool
	// Columns and Cells are the raw columns and cells of a Table.
	Columns, Cells []byte
}

type objectMeta struct {
	Kind     string
	Metadata struct {
		Namespace, Name, ResourceVersion string
		Annotations                      map[string]string
	}
}

func (m *objectMeta) key() string {
	if m.Metadata.Namespace == "" {
		return m.Metadata.Name
	}
	return m.Metadata.Namespace + "/" + m.Metadata.Name
}

// Event parses a frame. An ERROR frame has the Status as its Object.
func (f Frame) Event() (Event, error) {
	if f.apart != nil {
		return f.apart()
	}
	return f.takeApart()
}

func (f Frame) takeApart() (Event, error) {
	var frame struct {
		Type   string
		Object json.RawMessage
	}
	line := f.Line
	if isProtobufFrame(line) {
		var err error
		if line, err = decodedFrame(line); err != nil {
			return Event{}, fmt.Errorf("parse watch frame: %w: %s", err, asFields(f.Line))
		}
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		return Event{}, fmt.Errorf("parse watch frame: %w: %s", err, asObject(line))
	}
	e := Event{Type: frame.Type, Object: frame.Object}
	if e.Type == "ERROR" {
		return e, nil
	}
	var meta objectMeta
	if err := json.Unmarshal(frame.Object, &meta); err != nil {
		return Event{}, fmt.Errorf("parse object of a frame: %w: %s", err, line)
	}
	var err error
	if e.RV, err = strconv.ParseUint(meta.Metadata.ResourceVersion, 10, 64); err != nil {
		return Event{}, fmt.Errorf("parse resourceVersion of a frame: %w: %s", err, line)
	}
	if meta.Kind == "Table" {
		if meta, err = e.row(); err != nil {
			return Event{}, err
		}
	}
	e.Key = meta.key()
	e.InitialEnd = meta.Metadata.Annotations[initialEventsEnd] == "true"
	return e, nil
}

// row replaces a Table by its only row.
func (e *Event) row() (objectMeta, error) {
	var table struct {
		ColumnDefinitions json.RawMessage
		Rows              []struct{ Cells, Object json.RawMessage }
	}
	if err := json.Unmarshal(e.Object, &table); err != nil {
		return objectMeta{}, fmt.Errorf("parse Table: %w", err)
	}
	if len(table.Rows) != 1 {
		return objectMeta{}, fmt.Errorf("parse Table: got %d rows in a frame, want 1: %s", len(table.Rows), e.Object)
	}
	e.Columns, e.Cells, e.Object = table.ColumnDefinitions, table.Rows[0].Cells, table.Rows[0].Object
	if len(e.Object) == 0 || bytes.Equal(e.Object, []byte("null")) {
		e.Object = nil
		return objectMeta{}, nil
	}
	var meta objectMeta
	err := json.Unmarshal(e.Object, &meta)
	return meta, err
}

func (e Event) String() string {
	end := ""
	if e.InitialEnd {
		end = " (initial events end)"
	}
	return fmt.Sprintf("%s %s@%d%s", e.Type, e.Key, e.RV, end)
}

// Events parses all frames.
func (r *Recording) Events() ([]Event, error) {
	events := make([]Event, len(r.Frames))
	for i, frame := range r.Frames {
		var err error
		if events[i], err = frame.Event(); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Notified returns the number of events without bookmarks.
func (r *Recording) Notified() int {
	n := 0
	for _, frame := range r.Frames {
		if e, err := frame.Event(); err == nil && e.Type != Bookmark {
			n++
		}
	}
	return n
}

// Reached returns the highest resourceVersion in the frames, or 0 if there are none.
func (r *Recording) Reached() uint64 {
	highest := uint64(0)
	for _, frame := range r.Frames {
		if e, err := frame.Event(); err == nil {
			highest = max(highest, e.RV)
		}
	}
	return highest
}

// String lists the frames, one per line, without their contents. Of equal consecutive bookmarks it lists only the
// first.
func (r *Recording) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d frames", len(r.Frames))
	last := ""
	for _, frame := range r.Frames {
		e, err := frame.Event()
		line := e.String()
		if err != nil || e.Type == "ERROR" {
			line = string(asObject(frame.Line))
		}
		if e.Type != Bookmark || line != last {
			fmt.Fprintf(&b, "\n  %s", line)
		}
		last = line
	}
	return b.String()
}
